import BatonCoordinator
import BatonModel
import BatonStore

extension ClientOptions {
  /// Calls `body` at the coordinator at which a simulation has to begin: the one that has the connection to the host.
  /// A coordinator refuses with `conflict` what it cannot begin, and changes nothing. Then those are asked that serve
  /// the host or, if none is named, any hosts.
  /// - Throws: the first refusal, if no other coordinator can begin it either.
  func connect<Result: Sendable>(
    concerning host: HostName?, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    let environment = CommandEnvironment.current
    var target = target(in: environment)
    let first: Attempt<Result> = try await environment.backend.connect(target) { api in
      do {
        return .done(try await body(api))
      } catch let error as OperatorError {
        guard case .conflict = error else { throw error }
        return .refused(error, try await Self.others(than: api, serving: host))
      }
    }
    let (refusal, others): (OperatorError, [CoordinatorPlace])
    switch first {
    case .done(let result): return result
    case .refused(let error, let places): (refusal, others) = (error, places)
    }
    for place in others {
      target.place = place
      do {
        return try await environment.backend.connect(target, body)
      } catch let error as OperatorError {
        guard host == nil, case .conflict = error else { throw error }
      } catch let error as CoordinatorUnreachable {
        guard host == nil else { throw error }
      }
    }
    throw refusal
  }

  private enum Attempt<Result: Sendable>: Sendable {
    case done(Result)
    case refused(OperatorError, [CoordinatorPlace])
  }

  /// Where the other coordinators serve that have the connection to the host or, if it is `nil`, to any host.
  private static func others(than api: any OperatorAPI, serving host: HostName?) async throws -> [CoordinatorPlace] {
    let others = try await api.coordinators().filter { !$0.isEnded && !$0.answers && $0.hosts > 0 }
    guard let host, !others.isEmpty else { return others.map(\.place) }
    let owner = try await api.hosts(HostFilter(name: host), after: nil, limit: 1).hosts.first?.coordinator
    return others.filter { $0.number == owner }.map(\.place)
  }
}
