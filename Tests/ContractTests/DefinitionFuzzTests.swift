import BatonCore
import BatonModel
import BatonSpec
import BatonStore
import BatonWire
import ContractRows
import Foundation
import HostileDefinitions
import Testing

@testable import BatonCoordinator

/// All code that computes with a definition can work with each definition that `Definition.validate()` accepts. Valid
/// and hostile definitions as JSON, and job files as YAML, are mutated with random numbers from a seed. A trap ends the
/// process; the argument of the test that was running is the seed.
@Suite(.timeLimit(.minutes(10))) struct DefinitionFuzzTests {
  private static let seeds = Array(1...8)

  @Test(.refuses(24), arguments: seeds)
  func `a mutated definition is refused, or harms nothing that computes with it`(seed: Int) throws {
    var draw = Mutator(seed: UInt64(seed))
    var taken: [Definition] = []
    for _ in 0..<500 {
      let json = draw.mutated(draw.base())
      guard let definition = try? Definition(json: Data(json.utf8)) else { continue }
      carry(definition, &draw)
      taken.append(definition)
    }
    // Some definitions are accepted and some are refused, so the mutations reach both sides of the bounds.
    #expect((20..<480).contains(taken.count), "\(taken.count) of 500 were taken")
    try carryThroughCores(Array(taken.prefix(12)))
  }

  @Test(arguments: seeds)
  func `a mutated job file is refused, or is a definition that the coordinator takes`(seed: Int) throws {
    var draw = Mutator(seed: UInt64(seed))
    var taken = 0
    for _ in 0..<100 {
      let text = draw.mutated(yaml: draw.one(of: Mutator.files))
      let options = SpecificationOptions(now: Timestamp(nanoseconds: 1_767_225_600_000_000_000))
      let specification = Specification(parsing: Source(name: "job.yaml", folder: "/srv", text: text), options: options)
      for located in specification.definitions {
        let sent = try Definition(json: try located.definition.json())
        #expect(sent == located.definition)
        carry(sent, &draw)
        taken += 1
      }
    }
    #expect(taken > 5, "\(taken) of 100 were taken")
  }

  // MARK: What is computed with a definition

  private func carry(_ definition: Definition, _ draw: inout Mutator) {
    carryThroughItems(definition.work)
    let start = Timestamp(nanoseconds: draw.one(of: [0, 1_700_000_000_000_000_000, .max]))
    if let date = definition.earliestBeginDate { _ = date.resolved(submittedAt: start) }
    for times in [0, 1, 7, 1000, Int.max] { _ = definition.retry.backoff.doubled(times) }
    for usual in [nil, Duration.seconds(1), .nanoseconds(Int64.max)] as [Duration?] {
      if let limit = Stall.suspicion(of: definition, usualBatch: usual, keepsCursor: true) {
        _ = Instant(nanoseconds: .max) - Instant(nanoseconds: 0) >= limit * 2
      }
    }
    for reason in [ExpiryReason.draining, .budgetSpent, .cancelled(by: "ann")] {
      let window = reason.closingWindow(of: definition)
      #expect(window > .zero && window <= .seconds(600))
      _ = Instant(nanoseconds: .max) + window
    }
    if let budget = definition.budget { _ = Instant(nanoseconds: .max) + budget }
    carryThroughPlaces(definition)
  }

  private func carryThroughItems(_ work: Work?) {
    guard let work else { return }
    #expect((1...100_000).contains(work.batchSize))
    if let items = work.items, let count = items.computedCount {
      #expect(count > 0 && count <= 1_000_000_000)
      _ = items.computed(0..<min(3, count))
      _ = items.computed(max(0, count - 3)..<count)
      _ = (count + 4 * work.batchSize, Int64(count) * Int64(work.batchSize))
    }
    for word in work.command {
      #expect(throws: Never.self) { try CommandText(word).expanded(wildcard: "a.b") }
    }
  }

  /// Three times, takes places on a host for the definition and gives them back.
  private func carryThroughPlaces(_ definition: Definition) {
    var dispatcher = Dispatcher(leaseTerm: .seconds(15))
    let (id, host) = (DefinitionID(1), HostName("a"))
    dispatcher.learn(id, definition)
    var conditions = Conditions.assumed
    conditions.gpus = Reading([GPU(id: "0", name: "G", memoryBytes: .max)], source: "test")
    let hello = Hello(
      host: host, incarnation: Incarnation("a1"), version: "1", capabilities: Capabilities(slots: 2_000),
      conditions: conditions, running: [])
    guard case .attached(let held) = dispatcher.hello(hello, from: "test", at: Instant(nanoseconds: 0)) else { return }
    _ = dispatcher.attached(host, held: held, running: [], assignments: [])
    let requirementClass = RequirementClass(definition: id, priority: definition.priority)
    for _ in 0..<3 {
      dispatcher.noteReady(requirementClass)
      for reservation in dispatcher.reserveReady(limit: 10) {
        _ = dispatcher.settle(reservation, with: [], hasMore: false)
      }
      _ = dispatcher.tick(at: Now(instant: Instant(nanoseconds: 0), date: Timestamp(nanoseconds: 0)))
    }
    _ = dispatcher.obstacles(for: definition)
  }

  // MARK: The cores and the store

  /// Applies, submits, launches, commits, expires and retries the definitions, with the store and with the cores of
  /// coordinator and worker.
  private func carryThroughCores(_ definitions: [Definition]) throws {
    let store = try SQLiteStore.inMemory()
    let now = Now(instant: Instant(nanoseconds: 0), date: Timestamp(nanoseconds: 1_700_000_000_000_000_000))
    var known: [(DefinitionID, Definition)] = []
    for (index, original) in definitions.enumerated() {
      var definition = original
      // Each definition gets a pattern of its own, because the store refuses wildcards that overlap.
      definition.pattern = IdentifierPattern("fuzz.n\(index)" + (definition.pattern.isWildcard ? ".*" : ""))!
      let trace = TraceContext(
        traceID: TraceID(high: 1, low: 1), spanID: SpanID(2), isSampled: true)
      let applied = try store.transaction { try $0.apply([definition], seeds: [trace], at: now.moment) }
      known.append((applied[0].id, definition))
    }
    var fleet = try CoreFleet([store], known, at: now)
    for (index, (id, definition)) in known.enumerated() {
      let name = "fuzz.n\(index)" + (definition.pattern.isWildcard ? ".x" : "")
      let trace = TraceContext(
        traceID: TraceID(high: 3, low: 3), spanID: fleet.drawSpan(), isSampled: true)
      let submission = Submission(id: name, identifier: JobIdentifier(name)!, trace: trace)
      _ = try fleet.submit(submission, to: id)
    }
    try fleet.settle()
    for launch in fleet.running.keys.sorted() { try fleet.commit(launch, batches: 0) }
    for step in [1, 60, 86_400, 400_000_000] { try fleet.advance(.seconds(step)) }
    for launch in fleet.running.keys.sorted() { try fleet.end(launch, .failed("fuzz")) }
    for record in try store.transaction({ try $0.requests(RequestFilter(), after: nil, limit: 100) })
    where record.state == .failed {
      let definition = known.first { $0.0 == record.definition }?.1
      let skips = definition?.hasBatchToSkip(after: record.progress.batches) ?? false
      _ = try store.transaction {
        try $0.retry(record.id, skipping: skips ? .nextBatch : .nothing, at: fleet.now.moment)
      }
    }
    try fleet.advance(.seconds(1))
  }
}

/// Draws mutations from a seed (SplitMix64). The same seed draws the same mutations.
private struct Mutator {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed &* 0x2545_F491_4F6C_DD1D) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func number(below bound: Int) -> Int { Int(next() % UInt64(bound)) }
  mutating func one<Value>(of values: [Value]) -> Value { values[number(below: values.count)] }

  // MARK: JSON

  /// Draws a valid definition in two of three cases, and otherwise a hostile one. A mutation can make a hostile
  /// definition harmless.
  mutating func base() -> String { one(of: number(below: 3) > 0 ? Self.valid : Self.hostile) }

  private static let hostile = HostileDefinition.all.map(\.json).filter { $0.utf8.count < 4096 }

  /// Valid definitions that together set almost every property.
  private static let valid: [String] = {
    var full = Definition(pattern: IdentifierPattern("com.example.full.*")!, kind: .processing)
    full.title = "Full"
    full.requirements = Requirements(
      externalPower: true, network: .any, gpu: GPURequirement(count: 1, memoryBytes: 1 << 30), requiresIdle: true,
      slots: 2, labels: ["zone": "garage"])
    (full.maxRunning, full.pendingLimit) = (3, 10)
    (full.closingWindow, full.stallAfter) = (.seconds(30), .seconds(60))
    (full.dailyAllowance, full.pokeSpacing) = (.seconds(3600), .seconds(60))
    full.earliestBeginDate = .afterSubmission(.seconds(1))
    full.work = Work(
      command: ["run", "${wildcard}", "$${x}"], directory: "/srv", items: .range(1...100), batchSize: 7,
      environment: ["A": "b"], terminateBefore: .seconds(5))
    var listed = Definition(pattern: IdentifierPattern("com.example.listed")!, kind: .refresh)
    (listed.repeatEvery, listed.allowFrequent) = (.seconds(60), true)
    listed.work = Work(command: ["run"], items: .list(["a", "b"]), pass: .stdin)
    var nightly = Definition(pattern: IdentifierPattern("com.example.nightly")!, kind: .processing)
    nightly.schedule = JobSchedule(
      cron: try! CronExpression("30 2 * * MON-FRI"), timeZone: "Europe/Berlin", jitter: .seconds(600),
      exclude: [CivilDate("2026-12-25")!], missed: .all, overlap: .replace)
    nightly.work = Work(command: ["run"])
    var watched = Definition(pattern: IdentifierPattern("com.example.watched")!, kind: .continued)
    (watched.title, watched.strategy) = ("Watched", .fail)
    watched.earliestBeginDate = .at(Timestamp(nanoseconds: 1_700_000_000_000_000_000))
    watched.work = Work(command: ["run"])
    return [full, listed, nightly, watched].map { (try? $0.json()).map { String(decoding: $0, as: UTF8.self) } ?? "" }
  }()

  private static let numbers = [
    "0", "1", "-1", "2", "1023", "1024", "1025", "99999", "100000", "100001", "999999999", "1000000000", "2147483648",
    "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e3", "0.5", "1e400",
  ]
  private static let texts = [
    "", "a", "a.b.*", "*", "-rf", "${wildcard}", "$${x}", "${x}", "../..", "/srv", "a\\nb", "a\\u0000b", "\\u001b[2J",
    "\\u202e", "refresh", "continued", "stdin", "PATH", "BATON_X", "1=2",
  ]

  /// Replaces one to three values of the definition.
  mutating func mutated(_ json: String) -> String {
    var json = json
    for _ in 0...number(below: 3) {
      json = number(below: 3) > 0 ? replaceNumber(json) : replaceText(json)
    }
    return json
  }

  private mutating func replaceNumber(_ json: String) -> String {
    replace(json.ranges(of: /-?[0-9]+/), in: json, by: Self.numbers)
  }

  /// Replaces a text, which may also be a key.
  private mutating func replaceText(_ json: String) -> String {
    replace(json.ranges(of: /"[^"\\,:{}]+"/), in: json, by: Self.texts.map { "\"\($0)\"" })
  }

  private mutating func replace(_ ranges: [Range<String.Index>], in json: String, by values: [String]) -> String {
    guard !ranges.isEmpty else { return json }
    return json.replacingCharacters(in: one(of: ranges), with: one(of: values))
  }

  // MARK: YAML

  static let files: [String] = {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../Config/jobs"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    let files = names.filter { $0.hasSuffix(".yaml") }.sorted().compactMap {
      try? String(contentsOfFile: root + "/" + $0, encoding: .utf8)
    }
    precondition(!files.isEmpty, "there are no job files in \(root)")
    return files
  }()

  private static let words = [
    "0", "-1", "1024", "1025", "3650d", "3651d", "0s", "1ms", "10m", "600s", "601s", "true", "no", "[]", "{}", "~",
    "com.example.*", "refresh", "continued", "${wildcard}", "$${x}", "\"a\\tb\"", "\"\\u202e\"", "1...1000000000",
    "-9223372036854775808...9223372036854775807", "|\n      a\n      b", "*a", "&a x", "2026-03-01T06:30:00Z",
  ]

  /// Makes one or two changes to the file: a value is replaced, a line is emptied, or a line is repeated.
  mutating func mutated(yaml text: String) -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for _ in 0...number(below: 2) {
      let index = number(below: lines.count)
      switch number(below: 6) {
      case 0: lines[index] = ""
      case 1: lines.insert(lines[index], at: index)
      default:
        guard let colon = lines[index].firstIndex(of: ":") else { continue }
        lines[index] = lines[index][...colon] + " " + one(of: Self.words)
      }
    }
    return lines.joined(separator: "\n")
  }
}
