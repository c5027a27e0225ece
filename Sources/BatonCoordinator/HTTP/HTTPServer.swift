import BatonStore
import BatonWire
import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle
import Synchronization

extension CoordinatorServer {
  /// `/healthz` answers while the process runs; `/readyz` while the store can be read and it is not shutting down; pokes can
  /// be posted.
  func http(_ endpoint: HostPort) -> some Service {
    let router = Router()
    router.get("/healthz") { _, _ in "ok\n" }
    router.get("/readyz") { _, _ -> Response in
      let isReady = await coordinator.isReady()
      return Response(
        status: isReady ? .ok : .serviceUnavailable, headers: [.contentType: "text/plain"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: isReady ? "ready\n" : "not ready\n")))
    }
    PokeRoute(api: coordinator, token: token).add(to: router)
    var quiet = logger
    // What goes wrong is thrown; at a shutdown it would complain of its own cancelled tasks.
    quiet.logLevel = .critical
    return Application(
      router: router,
      // A connection over which nothing comes is closed: half a request would stay for ever.
      server: .http1(configuration: .init(idleTimeout: .seconds(60))),
      configuration: ApplicationConfiguration(
        address: .hostname(endpoint.host, port: endpoint.port), serverName: "baton"),
      onServerRunning: { [httpReadiness] _ in httpReadiness.raise() }, logger: quiet)
  }
}

extension Coordinator {
  /// It is not shutting down, and its store answers. A paused fleet is ready too: it has to be reached to be resumed.
  func isReady() async -> Bool {
    guard state.withLock({ $0.isAccepting }) else { return false }
    return (try? await store.counts()) != nil
  }
}
