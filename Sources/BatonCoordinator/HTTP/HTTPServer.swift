import BatonBase
import BatonHTTP
import BatonModel
import BatonProtobuf
import BatonStore
import BatonTelemetry
import BatonWire
import GRPCCore
import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle
import Synchronization

extension CoordinatorServer {
  /// An HTTP service: `/healthz` answers while the process runs; `/readyz` answers while the store can be read and
  /// written and the coordinator is not shutting down. With a gate, the HTTP API is served, and `/metrics` shows the
  /// coordinator's metrics.
  /// - Parameter proof: how callers prove who they are; `nil` on the unencrypted listener.
  func http(
    _ listener: HTTPListener, _ proof: Gate.Proof?, onListening: @escaping @Sendable (HostPort?) -> Void
  ) throws -> some Service {
    let gate = proof.map { Gate(proof: $0, coordinator: coordinator, door: httpDoor) }
    return try HTTPService(
      listener, door: httpDoor, largestBody: Self.largestBody,
      readiness: { [coordinator] in await coordinator.readiness() }, logger: logger,
      routes: { [metrics, api, httpWaits] router in
        guard let gate else { return }
        api?(router, HTTPCalls(gate, mostWaits: httpWaits))
        if let metrics { MetricsRoute(gate: gate, metrics: metrics).add(to: router) }
      }, onListening: onListening)
  }
}

/// `GET /metrics` shows the coordinator's metrics in Prometheus's format. They name definitions, so the call needs the
/// scope `metrics`, of a credential without patterns.
struct MetricsRoute: Sendable {
  let gate: Gate
  let metrics: MetricsReader

  func add(to router: HTTPService.Routes) {
    router.get("/metrics") { request, context in
      do {
        let caller = try await gate.caller(
          showing: request.headers[.authorization], from: context.peer, calling: "Metrics")
        try await gate.admit(
          caller, to: "Metrics", isPermitted: caller.may(.metrics) && caller.limits == nil,
          needed: "needs the scope 'metrics' without patterns", isChange: false)
        return Response(.ok, await metrics.snapshot().prometheusText, type: MetricsSnapshot.prometheusType)
      } catch let error as RPCError {
        let failure = HTTPFailure(error)
        return Response(HTTPResponse.Status(code: failure.status), failure.message + "\n")
      }
    }
  }
}

extension Coordinator {
  /// Ready if the coordinator is not shutting down and its store answers and can be written. A paused fleet is ready
  /// too, because operators have to reach the coordinator to resume it. The reason names no path, because every user of
  /// the machine may read it; the log has the whole error.
  func readiness() async -> DaemonReadiness {
    let (isAccepting, isUnwritable) = state.withLock { ($0.isAccepting, $0.isUnwritable) }
    guard isAccepting else { return .notReady("the coordinator is shutting down") }
    if isUnwritable {
      return .notReady("the store cannot be written, because its disk is full or not writable: look at the log")
    }
    return (try? await store.counts()) == nil ? .notReady("the store does not answer: look at the log") : .ready
  }
}
