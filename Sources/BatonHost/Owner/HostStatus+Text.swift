import BatonBase
package import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension HostStatus {
  /// The status as text for people, without colour: the owner's word, the running launches, and the conditions.
  package var text: String {
    let facts =
      [
        ("Coordinator", coordinator.address + (coordinator.isConnected ? ", connected" : ", not connected")),
        ("Owner", owner.words(at: at.date)), ("Slots", "\(usedSlots) of \(slots) in use"), ("Today", today.words),
      ] + (sandbox.map { [("Sandbox", $0.words)] } ?? [])
    let width = facts.map(\.0.count).max() ?? 0
    let block = facts.map { name, value in
      "  " + name + String(repeating: " ", count: width - name.count + 2) + value.onOneLine
    }
    let running = launches.isEmpty ? ["Nothing runs here."] : launchTable.lines
    return (["\(name.onOneLine) (baton-worker \(version.onOneLine))"] + block + [""] + running + [""] + factTable.lines)
      .joined(separator: "\n") + "\n"
  }

  /// The owner's word as one line, such as `desk is paused by alice until 2026-03-01T08:30:00Z (2h)`.
  package var ownerSentence: String { "\(name) is \(owner.words(at: at.date))".onOneLine }

  private var launchTable: PlainTable {
    PlainTable(
      [
        .init(title: "RUNNING"), .init(title: "REQUEST", isNumber: true), .init(title: "LAUNCH", isNumber: true),
        .init(title: "KIND"), .init(title: "FOR", isNumber: true), .init(title: "DONE", isNumber: true),
        .init(title: "BATCHES", isNumber: true), .init(title: "CPU TIME", isNumber: true),
        .init(title: "MEMORY", isNumber: true), .init(title: "STOPPING"),
      ], launches.map { $0.row(at: at.date) })
  }

  private var factTable: PlainTable {
    PlainTable(
      [
        .init(title: "CONDITION"), .init(title: "VALUE"), .init(title: "SOURCE"),
        .init(title: "FOR", isNumber: true), .init(title: "READ"),
      ], conditions.map(\.row))
  }
}

extension HostStatus.Sandbox {
  fileprivate var words: String {
    (problem.isEmpty ? available : "\(available): \(problem)") + "; \(required) is required"
  }
}

extension HostStatus.Owner {
  /// The owner's word, such as `paused by alice until 2026-03-01T08:30:00Z (2h)`.
  package func words(at now: Timestamp) -> String {
    let end = until.map { end in
      " until \(end.date.utc) (\(Duration.seconds((end.date - now).wholeSecondsUp).inWords))"
    }
    switch state {
    case "paused": return "paused by \(by ?? "unknown")" + (end ?? " until 'baton-worker resume'")
    case "outsideHours": return "outside its hours" + (end ?? "")
    default: return state
    }
  }
}

extension HostStatus.Today {
  fileprivate var words: String {
    let allowance = dailyAllowanceSeconds.map { " of \($0.duration.inWords)" } ?? ""
    return counted(launches, "launch", plural: "launches")
      + ", \(launchSeconds.duration.inWords)\(allowance) of launch time, \(cpuSeconds.duration.inWords) of CPU time"
  }
}

extension HostStatus.Launch {
  fileprivate func row(at now: Timestamp) -> [String] {
    [
      identifier, String(request), String(launch), kind, (now - since.date).inWords,
      String(completedUnits) + (totalUnits.map { "/\($0)" } ?? ""), String(batches),
      cpuSeconds?.duration.inWords ?? "-", memoryBytes?.inBytes ?? "-",
      expiring.map { "\($0.reason), \(($0.deadline.date - now).wholeSecondsUp) s left" } ?? "-",
    ]
  }
}

extension HostStatus.Fact {
  fileprivate var row: [String] {
    [
      name.reduce(into: "") { $0 += $1.isUppercase ? " " + $1.lowercased() : String($1) }, value ?? "unknown", source,
      ageSeconds?.duration.inWords ?? "-", raw.isEmpty ? "-" : raw,
    ]
  }
}

extension HostStatus {
  /// The status as one indented JSON object, for scripts. Characters that would control a terminal are escaped.
  package var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self).withPrintableJSON
    }
  }
}
