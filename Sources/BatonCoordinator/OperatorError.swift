import BatonBase
package import BatonModel
import BatonWire

/// Why the coordinator did not do what an operator asked for.
package enum OperatorError: Error, Hashable, Sendable, CustomStringConvertible {
  case refused(Refusal)
  case notFound(String)
  /// The call was understood but is not possible at present. The text says why and what to do.
  case conflict(String)
  case invalid(String)
  /// The coordinator's configuration does not permit it.
  case notPermitted(String)
  /// Too much work waits already. Nothing was changed; the operator may repeat the call after `retryAfter`.
  case overloaded(String, retryAfter: Duration)
  /// It is not known whether the change was made, because the disk failed during the write. Repeating the same call,
  /// with the same id if it has one, does not make the change twice.
  case unknown(String)

  package var description: String {
    switch self {
    case .refused(let refusal): refusal.message
    case .notFound(let text), .conflict(let text), .invalid(let text), .notPermitted(let text), .unknown(let text),
      .overloaded(let text, _):
      text
    }
  }
}

extension OperatorError {
  /// The error for a full queue. The writer takes thousands of writes per second, so it has emptied the queue after a
  /// second.
  static func overloaded(_ text: String) -> OperatorError { .overloaded(text, retryAfter: .seconds(1)) }

  static func unknownFlow(_ flow: RequestID) -> OperatorError {
    .notFound(
      "there is no flow \(flow.rawValue): 'baton show' and 'baton list -o json' say to which flow a request belongs")
  }
}

extension Refusal {
  /// What happened and what to do about it.
  package var message: String {
    switch self {
    case .notPermitted(let identifier, let nearest):
      "'\(identifier)' is not defined: "
        + (nearest.map { "did you mean '\($0)'? Otherwise " } ?? "")
        + "apply a definition for it first (baton apply FILE)"
    case .unusable(let identifier, let problem): "'\(identifier)' cannot be run: \(problem)"
    case .tooManyPending(let limit, let allowed, let pending):
      "\(pending) requests are pending and \(limit) allows \(allowed): wait until some have started, cancel some, "
        + "or raise the limit"
    case .unavailable(let why): "the coordinator takes no submissions now: \(why)"
    case .immediateRunIneligible(let obstacles):
      "it cannot start at once, and its strategy is 'fail': "
        + Self.text(of: obstacles)
        + "; submit it again later, or declare 'strategy: queue'"
    }
  }
}

extension Refusal {
  /// At most this many obstacles are named, because an answer has to fit into one message however large the fleet is.
  private static let namedObstacles = 1000

  private static func text(of obstacles: [HostObstacle]) -> String {
    let more = obstacles.count - namedObstacles
    return obstacles.prefix(namedObstacles).map { ($0.host.map { "\($0): " } ?? "") + $0.obstacle.text }
      .joined(separator: "; ") + (more > 0 ? "; and \(more) more" : "")
  }
}
