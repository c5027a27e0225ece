package import BatonBase
package import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A notification that waits or has failed, as operators see it.
package struct NotificationReport: Hashable, Sendable, Codable {
  package var receiver: ReceiverName
  package var facts: JobNotification
  /// How many attempts have failed.
  package var attempts: Int
  /// When it is tried next, in nanoseconds since 1970; `nil` if it has failed for good.
  package var nextAt: Int64?
  /// Why the last attempt failed; `nil` before the first one has.
  package var error: String?
  /// Since when it counts as failed, in nanoseconds since 1970; `nil` while it waits.
  package var failedAt: Int64?

  package init(receiver: ReceiverName, facts: JobNotification, attempts: Int) {
    (self.receiver, self.facts, self.attempts) = (receiver, facts, attempts)
  }
}

/// A receiver as operators see it.
package struct ReceiverReport: Hashable, Sendable, Codable {
  package var name: ReceiverName
  package var kind: ReceiverKind
  package var place: String

  package init(name: ReceiverName, kind: ReceiverKind, place: String) {
    (self.name, self.kind, self.place) = (name, kind, place)
  }
}

/// The outbox of notifications as operators see it.
package struct NotificationReports: Hashable, Sendable, Codable {
  package var receivers: [ReceiverReport] = []
  /// The oldest of those that wait.
  package var waiting: [NotificationReport] = []
  /// The last of those that have failed for good, the newest first.
  package var failed: [NotificationReport] = []
  /// How many there are of each, also of those that are not in the lists.
  package var waitingCount = 0
  package var failedCount = 0

  package init() {}

  /// The most of each that one answer has.
  static let most = 1000
  /// The largest size of each list in an answer, in bytes of the facts and errors: a job chooses what its reason says,
  /// and an answer that is too large for a message would show nothing.
  static let mostBytes = 2 << 20

  /// The first of the reports that fit into an answer.
  static func fitting(_ stored: [StoredNotification], at now: Moment) -> [NotificationReport] {
    var bytes = 0
    return stored.prefix { one in
      bytes += one.content.utf8.count + (one.error?.utf8.count ?? 0)
      return bytes <= mostBytes
    }.map { NotificationReport($0, at: now) }
  }
}

/// What a receiver said to a test.
package struct ReceiverAnswer: Hashable, Sendable {
  package var isAccepted: Bool
  /// The receiver's answer, or why it got nothing, in one line.
  package var text: String

  package init(isAccepted: Bool, text: String) { (self.isAccepted, self.text) = (isAccepted, text) }
}

extension NotificationReports {
  var proto: Baton_V1_NotificationsReply {
    get throws {
      let report = try JSONEncoder().encode(self)
      return .with { $0.report = report }
    }
  }

  init(_ proto: Baton_V1_NotificationsReply) throws {
    do {
      self = try JSONDecoder().decode(NotificationReports.self, from: proto.report)
    } catch is DecodingError {
      throw WireError("notifications that cannot be read: is the coordinator of another version?")
    }
  }
}

extension Coordinator {
  package func notifications() async throws -> NotificationReports {
    let list = try await translating { try await self.store.notifications(limit: NotificationReports.most) }
    let moment = now().moment
    var reports = NotificationReports()
    reports.receivers = settings.notifications.receivers.sorted { $0.key < $1.key }.map { name, sender in
      ReceiverReport(name: name, kind: sender.kind, place: sender.place)
    }
    reports.waiting = NotificationReports.fitting(list.waiting, at: moment)
    reports.failed = NotificationReports.fitting(list.failed, at: moment)
    (reports.waitingCount, reports.failedCount) = (list.waitingCount, list.failedCount)
    return reports
  }

  package func testReceiver(_ name: ReceiverName) async throws -> ReceiverAnswer {
    let receivers = settings.notifications.receivers
    guard let sender = receivers[name] else {
      let known = receivers.keys.sorted().map(\.rawValue).joined(separator: ", ")
      throw OperatorError.notFound(
        "there is no receiver '\(name)'; "
          + (known.isEmpty ? "'receivers' in coordinator.yaml lists them, and is empty" : "there are \(known)"))
    }
    let date = now().date
    let facts = JobNotification(
      id: "test-\(SpanID.random())\(SpanID.random())", event: .test, at: date.rfc3339)
    let content = String(decoding: try JSONEncoder().encode(facts), as: UTF8.self)
    switch await sender.send(OutgoingNotification(id: facts.id, content: content, facts: facts, date: date)) {
    case .accepted(let text): return ReceiverAnswer(isAccepted: true, text: text)
    case .refused(let text, _): return ReceiverAnswer(isAccepted: false, text: text)
    }
  }

  /// Throws unless `coordinator.yaml` has all receivers that the definition names.
  func checkReceivers(of definition: Definition) throws {
    guard settings.knowsReceivers, let rule = definition.notify else { return }
    let known = settings.notifications.receivers
    for (key, list) in rule.lists {
      guard let unknown = list.first(where: { known[$0] == nil }) else { continue }
      let names = known.keys.sorted().map(\.rawValue).joined(separator: ", ")
      throw OperatorError.invalid(
        "the definition of '\(definition.pattern)' is not taken: 'notify.\(key)' names '\(unknown)', which is no receiver of "
          + (names.isEmpty ? "coordinator.yaml; it lists none" : "coordinator.yaml; it has \(names)"))
    }
  }
}

extension NotificationReport {
  fileprivate init(_ stored: StoredNotification, at now: Moment) {
    let facts =
      JobNotification(json: stored.content) ?? JobNotification(id: stored.id, event: .test, at: stored.at.rfc3339)
    self.init(receiver: stored.key.receiver, facts: facts, attempts: stored.attempts)
    error = stored.error
    failedAt = stored.failedAt.map { now.date(ofSteady: $0).nanoseconds }
    nextAt = stored.failedAt == nil ? now.date(ofSteady: stored.nextAt).nanoseconds : nil
  }
}
