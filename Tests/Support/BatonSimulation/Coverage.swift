import BatonCoordinator
import BatonModel
import BatonStore

/// How often each kind of thing happened in simulations. `baton-simulate --coverage` prints it, so that a developer
/// sees what the draws reach and what they never reach.
package struct Coverage: Sendable {
  enum Group: String, CaseIterable {
    case outcome, expiry, request, refusal, event, order, error, message, fault, handler, client
  }

  package init() {}

  private var counts: [Group: [String: Int]] = [:]
  /// The number of events of each request that are counted already.
  private var events: [RequestID: Int] = [:]

  mutating func add(_ group: Group, _ name: String) { counts[group, default: [:]][name, default: 0] += 1 }

  mutating func add(_ names: [String], of request: RequestID) {
    for name in names.dropFirst(events[request, default: 0]) { add(.event, name) }
    events[request] = names.count
  }

  package mutating func join(_ other: Coverage) {
    counts.merge(other.counts) { own, others in own.merging(others, uniquingKeysWith: +) }
  }

  /// A line for each kind of thing, with those that may happen and did not.
  package var lines: [String] {
    Group.allCases.flatMap { group in
      let found = Dictionary(uniqueKeysWithValues: Self.possible(group).map { ($0, 0) })
        .merging(counts[group, default: [:]], uniquingKeysWith: +)
      return found.sorted { $0.key < $1.key }.map { "\(group.rawValue)\t\($0.key)\t\($0.value)" }
    }
  }

  /// The names that a table shows even if they were never counted.
  private static func possible(_ group: Group) -> [String] {
    switch group {
    case .outcome: LaunchOutcome.Kind.allCases.map(\.rawValue)
    case .expiry: ExpiryReason.Kind.allCases.map(\.rawValue)
    case .request: [RequestState.succeeded, .failed, .cancelled].map(\.rawValue) + ["quarantined"]
    case .refusal: Refusal.Kind.allCases.map(\.rawValue)
    case .event: RequestEvent.allCases.map(\.rawValue)
    case .order, .error, .message, .fault, .handler, .client: []
    }
  }
}

extension World {
  /// Counts a thing, if this simulation counts at all.
  func count(_ group: Coverage.Group, _ name: @autoclosure () -> String) {
    guard coverage != nil else { return }
    coverage?.add(group, name())
  }

  /// Counts what the store has committed for an order.
  func count(_ order: StoreOrder, _ news: StoreNews) {
    guard coverage != nil else { return }
    count(.order, Self.name(of: order))
    switch news {
    case .leaseEnded(_, let answers), .leaseEndedElsewhere(_, let answers), .overrunEnded(let answers),
      .ended(_, _, _, let answers, _):
      for answer in answers { count(answer) }
    case .checkpointed(_, _, let answers, _):
      for answer in answers { count(.order, "checkpoint \(Self.name(of: answer))") }
    case .claimed, .learned, .promoted, .foundReady, .expiryNoted, .noted, .reportsNoted, .usesNoted, .leaseGranted,
      .awayNoted, .beaten, .coordinatorEnded, .fleetRead, .definitionsRead, .examined, .renewed, .assignmentsRead,
      .itemsAppended, .itemsRead, .outputAppended, .submitted:
      break
    }
  }

  private func count(_ answer: EndingAnswer) {
    guard let outcome = answer.launched?.outcome else { return count(.order, "end of no live launch") }
    count(.outcome, outcome.code)
    if let reason = outcome.reason { count(.expiry, reason.code) }
    guard answer.state.isEnded else { return }
    let isQuarantined = answer.state == .failed && outcome.kind != .failed
    count(.request, isQuarantined ? "quarantined" : answer.state.rawValue)
  }

  /// Counts the events of requests, each event once.
  func countEvents(of records: [RequestRecord], _ verbs: Verbs) throws {
    guard coverage != nil else { return }
    for record in records { coverage?.add(try verbs.events(of: record.id).map(\.name), of: record.id) }
  }

  /// The name of a case, without its values.
  static func name(of value: Any) -> String { String("\(value)".prefix { $0 != "(" }) }
}
