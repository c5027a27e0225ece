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
  /// The HTTP service: `/healthz` answers while the process runs; `/readyz` answers while the store can be read and
  /// the coordinator is not shutting down; pokes can be posted; `/metrics` shows `metrics` if it is not nil.
  /// - Parameter socket: the path of a Unix socket of the coordinator's user, which is used instead of `endpoint`.
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
  /// True if the coordinator is not shutting down and its store answers. A paused fleet is ready too, because
  /// operators have to reach the coordinator to resume it.
  func isReady() async -> Bool {
    guard state.withLock({ $0.isAccepting }) else { return false }
    return (try? await store.counts()) != nil
  }
}
