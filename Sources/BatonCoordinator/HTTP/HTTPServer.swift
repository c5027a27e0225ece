import BatonBase
import BatonHTTP
import BatonStore
import BatonTelemetry
import BatonWire
import Hummingbird
import Logging
import ServiceLifecycle
import Synchronization

extension CoordinatorServer {
  /// `/healthz` answers while the process runs; `/readyz` while the store can be read and it is not shutting down; pokes
  /// can be posted; and `/metrics` shows `metrics`, if there are any.
  /// - Parameter socket: of the coordinator's user, in place of `endpoint`.
  func http(
    _ endpoint: HostPort, socket: String? = nil, metrics: HTTPService.Metrics? = nil
  ) throws -> some Service {
    let metricsToken = MetricsToken.derived(from: token)
    return try HTTPService(
      endpoint, socket: socket, metricsToken: { metricsToken }, door: httpDoor,
      isReady: { [coordinator] in await coordinator.isReady() }, metrics: metrics, logger: logger,
      routes: { [coordinator, token] in PokeRoute(api: coordinator, token: token).add(to: $0) },
      onListening: { [httpAddress, httpSocketReadiness] address in
        if socket == nil { httpAddress.send(address) } else { httpSocketReadiness.raise() }
      })
  }
}

extension Coordinator {
  /// It is not shutting down, and its store answers. A paused fleet is ready too: it has to be reached to be resumed.
  func isReady() async -> Bool {
    guard state.withLock({ $0.isAccepting }) else { return false }
    return (try? await store.counts()) != nil
  }
}
