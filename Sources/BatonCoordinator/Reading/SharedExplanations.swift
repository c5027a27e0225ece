import BatonModel
import BatonStore
import Synchronization

/// The last explanations of large fleets, so that several people who look at the same request share one. An
/// explanation is at most a second old.
final class SharedExplanations: Sendable {
  /// Fleets with no more hosts are explained anew each time, which costs less than a millisecond.
  static let least = 64
  /// How long an explanation is given to others.
  private static let lifetime = Duration.seconds(1)
  /// The most explanations that are kept.
  private static let most = 64

  /// What an explanation is about. Another state or launch of the request needs another one.
  private struct Key: Hashable {
    var request: RequestID
    var state: RequestState
    var launches: Int
    var definition: DefinitionID
    var priority: Priority

    init(_ record: RequestRecord) {
      (request, state, launches) = (record.id, record.state, record.launches)
      (definition, priority) = (record.definition, record.priority)
    }
  }

  private let kept = Mutex<[Key: (explanation: Explanation, at: Instant)]>([:])

  /// The explanation of a request that was made within the last second; `nil` if there is none.
  func explanation(of record: RequestRecord, at now: Instant) -> Explanation? {
    kept.withLock { kept in
      kept[Key(record)].flatMap { now - $0.at < Self.lifetime ? $0.explanation : nil }
    }
  }

  func keep(_ explanation: Explanation, at now: Instant) {
    kept.withLock { kept in
      if kept.count >= Self.most { kept = kept.filter { now - $0.value.at < Self.lifetime } }
      if kept.count < Self.most { kept[Key(explanation.record)] = (explanation, now) }
    }
  }
}
