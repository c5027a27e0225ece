package import BatonCoordinator
import BatonModel
import BatonStore

extension JSONValue {
  /// An explanation with everything that `ExplanationText` says.
  package init(_ explanation: Explanation, _ hosts: [HostReport]) {
    self = [
      "identifier": JSONValue(explanation.record.identifier.rawValue),
      "request": JSONValue(explanation.record.number),
      "state": JSONValue(explanation.record.state.rawValue),
      "verdict": JSONValue(explanation.verdict.rawValue),
      "eligibleAt": JSONValue(explanation.record.eligibleAt),
      "lastFailure": JSONValue(explanation.lastFailure),
      "position": JSONValue(explanation.position),
      "recentUse": explanation.order.map { .bool($0.hasRecentUse) } ?? .null,
      "lastUsedAt": JSONValue(explanation.order?.lastUsedAt),
      "classesAhead": JSONValue(explanation.order?.classesAhead),
      "priority": JSONValue(explanation.record.priority.name),
      "countsAs": JSONValue(explanation.order.map { ($0.agedPriority ?? explanation.record.priority).name }),
      "namespace": explanation.order?.namespace.map { namespace in
        [
          "prefix": JSONValue(namespace.prefix.isEmpty ? nil : namespace.prefix),
          "weight": JSONValue(namespace.weight), "useSlotSeconds": JSONValue(Int(namespace.use.rounded())),
          "useOfAllSlotSeconds": JSONValue(Int(namespace.useOfAll.rounded())),
          "ahead": .array(namespace.ahead.map { $0.isEmpty ? .null : JSONValue($0) }),
        ]
      } ?? .null,
      "reservation": explanation.reservation.map { reservation in
        [
          "host": JSONValue(reservation.host.rawValue), "expectedAt": JSONValue(reservation.expectedAt),
        ]
      } ?? .null,
      "advice": JSONValue(explanation.advice.isEmpty ? nil : explanation.advice),
      "summary": .array(
        ObstacleSummary(explanation.lines, free: []).rows.map { row in
          ["code": JSONValue(row.code), "hosts": JSONValue(row.hosts), "alone": JSONValue(row.alone)]
        }),
      "obstacles": .array(explanation.lines.map { JSONValue($0) }),
      "hosts": .array(
        hosts.map { host in
          [
            "name": JSONValue(host.name.rawValue), "state": JSONValue(host.state.rawValue),
            "lastSeenAt": JSONValue(host.lastSeenAt),
          ]
        }),
    ]
  }

  private init(_ line: Explanation.Line) {
    self = [
      "host": JSONValue(line.host?.rawValue),
      "code": JSONValue(line.code),
      "text": JSONValue(line.text),
      "remedy": JSONValue(line.remedy),
      "permanent": .bool(line.isPermanent),
      "source": JSONValue(line.source),
      "raw": JSONValue(line.raw.flatMap { $0.isEmpty ? nil : $0 }),
      "ageSeconds": JSONValue(line.age.map { Int($0.components.seconds) }),
      "reportedAt": JSONValue(line.reportedAt),
      "clearsAt": JSONValue(line.clearsAt),
    ]
  }
}

extension Explanation {
  /// The longest text of `lastFailure`, in characters.
  private static let longestFailure = 200

  /// Why the last launch of a request that waits failed: one line, which is cut if it is long. `nil` if the request
  /// does not wait, or its last launch did not fail.
  package var lastFailure: String? {
    guard record.state.isPending, record.lastOutcome == .failed, let reason = record.reason, !reason.isEmpty else {
      return nil
    }
    let line = reason.onOneLine
    return line.count > Self.longestFailure ? line.prefix(Self.longestFailure - 1) + "…" : line
  }

  /// The obstacle to show where there is room for one only: the first of the request, of the fleet, or of a host that
  /// is not gone; if every line is of a host that is gone, the first line.
  package var foremost: Line? {
    let gone = Set(lines.filter { $0.code == Obstacle.Kind.hostGone.rawValue }.compactMap(\.host))
    return lines.first { line in line.host.map { !gone.contains($0) } ?? true } ?? lines.first
  }
}
