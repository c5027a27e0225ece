import BatonStore
import BatonWire
import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle
import Synchronization

extension CoordinatorServer {
  /// `/healthz` answers while the process runs; `/readyz` once the store can be read and submissions are taken; pokes can
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
      configuration: ApplicationConfiguration(
        address: .hostname(endpoint.host, port: endpoint.port), serverName: "baton"),
      onServerRunning: { [httpReadiness] _ in httpReadiness.raise() }, logger: quiet)
  }
}

extension Coordinator {
  /// It takes submissions, and its store answers.
  func isReady() async -> Bool {
    guard state.withLock({ $0.isAccepting }) else { return false }
    return (try? await store.counts()) != nil
  }
}
