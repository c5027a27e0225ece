import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The cores read no clock, draw no random numbers of their own and never wait. Otherwise the same seed would not give
/// the same fleet each time.
@Suite struct PurityTests {
  static let folders = [
    "Sources/BatonCoordinator/Dispatcher", "Sources/BatonCoordinator/Core", "Sources/BatonCore/Worker",
    "Sources/BatonStore/Verbs", "Sources/BatonModel", "Tests/Support/BatonSimulation",
  ]
  static let forbidden = [
    "Date()", "Date.now", "ContinuousClock", "SuspendingClock", "Task.sleep", "Task {", "async ", "await ", ".random(",
    ".randomElement(", ".shuffled()", ".shuffle()", "SystemRandomNumberGenerator", "UUID()", "clock_gettime", "usleep",
    "randomblob", "strftime('now'", "hashValue",
  ]
  /// The campaign runs simulations on threads; the simulated code does not depend on it.
  static let exceptions = ["Campaign.swift"]

  @Test("nothing in the cores reads a clock, draws at random or waits", arguments: folders)
  func purity(folder: String) throws {
    let files = try Self.files(in: folder)
    #expect(!files.isEmpty)
    for (name, text) in files where !Self.exceptions.contains(name) {
      for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        let found = Self.forbidden.filter { line.contains($0) }
        #expect(found.isEmpty, "\(folder)/\(name): \(line)")
      }
    }
  }

  /// The order of sets and dictionaries differs between processes. Code that iterates over one either sorts within the
  /// statement, or is in the list of reviewed statements, `harmless`.
  @Test("effects come in an order that does not depend on hashing", arguments: folders.prefix(3))
  func order(folder: String) throws {
    let files = try Self.files(in: folder)
    let names = Set(files.flatMap { $0.text.matches(of: Self.declaration).map { String($0.output.1) } })
    #expect(names.count >= 4, "the dictionaries of \(folder) were not found")
    let passages = try Self.passages(through: names)
    for (name, text) in files {
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      for (index, line) in lines.enumerated() where line.contains(passages) {
        let statement = lines[index..<min(index + 3, lines.count)].joined(separator: " ")
        let known = line.drop { $0 == " " }
        let isHarmless = known.hasPrefix("//") || statement.contains("sorted") || Self.harmless.contains(String(known))
        #expect(isHarmless, "\(folder)/\(name):\(index + 1): \(line)")
      }
    }
  }

  /// The declaration of a set or a dictionary.
  private static var declaration: Regex<(Substring, Substring)> {
    /(?:var|let) (\w+)(?:: (?:\[[\w.]+: |Set<)| = Set\()/
  }

  private static func passages(through names: Set<String>) throws -> Regex<AnyRegexOutput> {
    let name = "(?:\(names.sorted().joined(separator: "|")))(?:\\.keys|\\.values)?"
    let loop = "\\bfor [^{]* in (?:[\\w.?!]*\\.)?\(name)(?: where [^{]*)? \\{"
    return try Regex(loop + "|\\b\(name)\\.(?:map|flatMap|compactMap|filter|forEach|first|prefix|reduce)\\b")
  }

  /// Statements that iterate over a set or a dictionary without depending on its order: sums, changes of each element,
  /// results that are sorted later, and arrays that have the name of a dictionary.
  private static let harmless: Set = [
    "for requirementClass in ready.keys { ready[requirementClass]?.passedOver[host] = nil }",
    "for requirementClass in ready.keys { ready[requirementClass]?.passedOver = [:] }",
    "let launches = state.launches.filter { launch in",
    "hosts.values.filter { state in",
    "for name in hosts.keys {",
    "let ends = hosts.values.compactMap { state in",
    "for host in hosts.values {",
    "for state in hosts.values {",
    "for requirementClass in waitWatch.histories.keys where ready[requirementClass] == nil {",
    "waitWatch.histories = waitWatch.histories.filter { ready[$0.key] != nil }",
    "for record in fleet.hosts { hosts[record.name] = restored(record) }",
    "for (launch, running) in launches where running.expiring == nil && isLate(running) {",
    "for stored in definitions {",
    #"untoldUpdates.formUnion(updates.map(\.launch).filter { self.updates[$0] != nil })"#,
    "for launch in host.launches.values where pattern(of: launch) == wanted { charge(launch, to: &used) }",
    "for launch in host.launches.values { charge(launch, to: &used) }",
    "for (launch, host) in places {",
    "connections.filter {",
    "for launch in host.launches.values { noteTime(of: launch, in: &times) }",
    "for (key, launch) in host.launches where launch.expiring == nil && !launch.isSimulated {",
    "host.launches.compactMap { key, launch in",
    "for (key, launch) in launches where launch.expiring != nil { state.remove(key, definitions) }",
    "for gpus in reservation.places { free(gpus, on: reservation.host, definition) }",
    "for state in hosts.values where state.link == .attached && state.isGranted {",
    "for other in ready.keys where ready[other]?.longWait.isBehindOthers == true {",
    "let waited = booking.waitsFor.values.reduce(0, +)",
    "let freed = Set(booking.waitsFor.keys.flatMap { launches[$0]?.gpus ?? [] })",
    "private var lastBooker: Turn? { bookings.keys.map(turn(of:)).max() }",
    "expiries = expiries.filter { $0.value.last >= oldest }",
    "let running = launches.values.filter { !$0.hasEnded }.map { launch in",
    #"let ended = launches.values.filter(\.hasEnded).map { RunningLaunch(launch: $0.assignment.launch) }"#,
    "heartbeats.unanswered = heartbeats.unanswered.filter { $0.key > number }",
    "heartbeats.unanswered = heartbeats.unanswered.filter { now - $0.value < term }",
  ]

  private static func files(in folder: String) throws -> [(name: String, text: String)] {
    let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let path = root.appendingPathComponent(folder).path
    let names = try FileManager.default.subpathsOfDirectory(atPath: path)
    return try names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
      let text = try String(contentsOfFile: path + "/" + name, encoding: .utf8)
      return (name.split(separator: "/").last.map(String.init) ?? name, text)
    }
  }
}
