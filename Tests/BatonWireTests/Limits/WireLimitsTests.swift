import BatonModel
import ContractRows
import Foundation
import HostFixtures
import Testing

@testable import BatonWire

/// Messages that arrive are held to the table of limits.
@Suite struct WireLimitsTests {
  private static let launch = LaunchKey(request: RequestID(1), number: 1)

  private static func hello(_ change: (inout Hello) -> Void = { _ in }) -> Hello {
    var hello = Hello(
      host: HostName("desk"), incarnation: Incarnation("d1"), version: "1.2.3", capabilities: Capabilities(slots: 4),
      conditions: .assumed)
    change(&hello)
    return hello
  }

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  @Test(.refuses(25), arguments: HelloLimits.all) func `a hello is taken at each limit and refused over it`(
    limit: WireLimit
  ) throws {
    _ = try HelloLimits.change(Self.hello(), limit.most, of: limit).heldToLimits()
    let error = #expect(throws: WireError.self) {
      try HelloLimits.change(Self.hello(), limit.most + 1, of: limit).heldToLimits()
    }
    let message = try #require(error?.message)
    #expect(message.utf8.count <= 1024)
    if limit != WireLimits.hostName {
      #expect(message.hasPrefix(limit.name), "\(message)")
      #expect(message.contains("\(limit.most)") && message.contains("\(limit.most + 1)"), "\(message)")
    }
  }

  /// The limits of which another test sends one more: of a worker's messages the ones that are cut here, a frame in
  /// MessageFuzzTests, the items of a request in the stores' conformance suite; of operators' calls all of them in
  /// OperatorLimitTests, but for the place of a store in MessageFuzzTests; of transfers all of them in
  /// TransferLimitTests; of results in ResultLimitTests; of a launch's submissions below.
  private static let elsewhere = [
    WireLimits.readingText, WireLimits.text, WireLimits.textBytes, WireLimits.failure, WireLimits.detail,
    WireLimits.output, WireLimits.item, WireLimits.frame, WireLimits.pageItems, WireLimits.requestItems,
    WireLimits.requestItemBytes, WireLimits.principal, WireLimits.submissionID, WireLimits.payload,
    WireLimits.submissions, WireLimits.definitions, WireLimits.states, WireLimits.hostArgument, WireLimits.hostNumber,
    WireLimits.hostTerms, WireLimits.comparedDefinitions, WireLimits.storePlace, WireLimits.certificate,
    WireLimits.transfers, WireLimits.transfer, WireLimits.transferStatuses, WireLimits.launchSubmission,
    WireLimits.launchPayload, WireLimits.result,
  ]

  @Test(.refuses(25)) func `every limit is in the table, and a test sends one more of it`() throws {
    let source = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/BatonWire/Limits/WireLimits.swift")
    let declared = try String(contentsOf: source, encoding: .utf8).matches(of: /static let \w+ = WireLimit\(/).count
    #expect(declared > 30 && declared == WireLimits.all.count)
    #expect(Set(HelloLimits.all + Self.elsewhere) == Set(WireLimits.all))
  }

  @Test(.refuses(25)) func `a submission of a launch is held to its limits, and its date is brought into range`() throws
  {
    let identifier = JobIdentifier("com.example.report")!
    let most = LaunchSubmission(
      name: String(repeating: "n", count: WireLimits.launchSubmission.most), identifier: identifier,
      payload: [UInt8](repeating: 0, count: WireLimits.launchPayload.most))
    #expect(
      try WorkerMessage.submission(Self.launch, most).heldToLimits() == .submission(Self.launch, most))
    var (longer, larger, nameless, late, long) = (most, most, most, most, most)
    longer.name += "n"
    larger.payload?.append(0)
    nameless.name = ""
    late.earliestBeginDate = .at(Timestamp(nanoseconds: .min))
    for bad in [longer, larger, nameless, late] {
      #expect(throws: WireError.self) { try WorkerMessage.submission(Self.launch, bad).heldToLimits() }
    }
    long.earliestBeginDate = .afterSubmission(.seconds(1 << 40))
    guard case .submission(_, let held) = try WorkerMessage.submission(Self.launch, long).heldToLimits() else { return }
    #expect(held.earliestBeginDate == .afterSubmission(WireLimits.longest))
  }

  @Test func `free texts of a worker have no U+0000, which PostgreSQL does not store`() throws {
    var checkpoint = Checkpoint(launch: Self.launch, batch: 1, completedUnits: 1)
    checkpoint.subtitle = "a\0b"
    guard case .checkpoint(let held) = try WorkerMessage.checkpoint(checkpoint).heldToLimits() else { return }
    #expect(held.subtitle == "a\u{FFFD}b")
    let ending = Ending(launch: Self.launch, outcome: .failed("\0"), errorType: "c\0")
    let clean = Ending(launch: Self.launch, outcome: .failed("\u{FFFD}"), errorType: "c\u{FFFD}")
    #expect(try WorkerMessage.ended(ending).heldToLimits() == .ended(clean))
    let reason = try #require(ExpiryReason(code: "cancelled", detail: "an\0a"))
    let plain = try #require(ExpiryReason(code: "cancelled", detail: "an\u{FFFD}a"))
    #expect(try WorkerMessage.expiring(Self.launch, reason).heldToLimits() == .expiring(Self.launch, plain))
  }

  @Test(.refuses(25)) func `the detail of an expiry and the output of a launch are cut at their limits`() throws {
    for count in [WireLimits.detail.most, WireLimits.detail.most + 1] {
      let reason = try #require(ExpiryReason(code: "cancelled", detail: Self.text(count)))
      let held = try #require(ExpiryReason(code: "cancelled", detail: Self.text(WireLimits.detail.most)))
      #expect(try WorkerMessage.expiring(Self.launch, reason).heldToLimits() == .expiring(Self.launch, held))
      #expect(try WorkerMessage.overran(Self.launch, reason).heldToLimits() == .overran(Self.launch, held))
      let ending = WorkerMessage.ended(Ending(launch: Self.launch, outcome: .expired(reason)))
      #expect(try ending.heldToLimits() == .ended(Ending(launch: Self.launch, outcome: .expired(held))))
    }
  }

  @Test func `the secrets that a host permits count as texts of its hello`() {
    let identifiers = [IdentifierPattern(trusted: Self.text(WireLimits.hello.most))]
    let hello = Self.hello {
      $0.capabilities.permissions = CommandPermissions(
        secrets: [SecretPermission(files: SecretPattern("db/*")!, identifiers: identifiers)])
    }
    #expect(throws: WireError.self) { try hello.heldToLimits() }
  }

  @Test(arguments: [
    "", ".", "..", ".hidden", "-x", "_x", "a b", "a/b", "\u{1B}[31mred", "a\nb", "naïve", "a\u{202E}b", "a:b",
    String(repeating: "a", count: 64),
  ]) func `a host has no such name`(name: String) {
    #expect(!HostName(name).isWellFormed)
    let error = #expect(throws: WireError.self) { try Self.hello { $0.host = HostName(name) }.heldToLimits() }
    #expect(error?.message.contains("letters, digits") == true)
    #expect(error?.message.escaped == error?.message)
    #expect(HostName.ofMachine(name).isWellFormed)
  }

  @Test(arguments: ["a", "9", "desk", "Desk-3.example.org", "a..b", "a_b", String(repeating: "a", count: 63)])
  func `a host may have such a name`(name: String) throws {
    #expect(try Self.hello { $0.host = HostName(name) }.heldToLimits().host.rawValue == name)
    #expect(HostName.ofMachine(name).rawValue == name)
  }

  @Test func `control characters are refused in names`() {
    for version in ["1\u{1B}[2J", "1\n2", "1\u{85}", "1\u{2028}", "1\u{202E}"] {
      #expect(throws: WireError.self) { try Self.hello { $0.version = version }.heldToLimits() }
      #expect(throws: WireError.self) { try WireLimits.principal.check(name: version) }
    }
    #expect(throws: Never.self) { try WireLimits.principal.check(name: "Zoë 👩‍👩‍👧") }
    #expect(throws: WireError.self) { try WireLimits.principal.check(name: Self.text(256)) }
    #expect(throws: Never.self) { try WireLimits.principal.check(name: Self.text(255)) }
  }

  // MARK: What is cut

  @Test(.refuses(25)) func `texts of a launch are cut, also those whose one character has no end`() throws {
    let marks = "e" + String(repeating: "\u{301}", count: 100_000)
    for long in [Self.text(100_000), marks, String(repeating: "👩‍👩‍👧", count: 1000)] {
      let update = LaunchUpdate(launch: Self.launch, title: long, subtitle: long)
      guard case .update(let held) = try WorkerMessage.update(update).heldToLimits() else { return }
      for text in [held.title, held.subtitle] {
        let text = try #require(text)
        #expect(text.count <= 200 && text.utf8.count <= 1600 && !text.isEmpty)
        #expect(long.utf8.starts(with: text.utf8))
      }
      let checkpoint = Checkpoint(launch: Self.launch, batch: 0, completedUnits: 0, subtitle: long)
      guard case .checkpoint(let kept) = try WorkerMessage.checkpoint(checkpoint).heldToLimits() else { return }
      #expect(kept.subtitle == held.subtitle)
      let ending = Ending(launch: Self.launch, outcome: .failed(long), errorType: long)
      guard case .ended(let ended) = try WorkerMessage.ended(ending).heldToLimits(),
        case .failed(let message) = ended.outcome
      else { return }
      #expect(message.utf8.count <= 4096)
      #expect(ended.errorType?.utf8.count ?? 0 <= 255)
    }
    let exact = String(repeating: "ä", count: 200)
    let update = WorkerMessage.update(LaunchUpdate(launch: Self.launch, title: exact))
    #expect(try update.heldToLimits() == update)
  }

  @Test func `what is read on a host is cut, and numbers are brought into range`() throws {
    var conditions = Conditions.assumed
    conditions.power.raw = Self.text(1 << 20)
    conditions.battery.value = .max
    conditions.thermal.age = Duration.nanoseconds(Int64.min)
    conditions.network.age = Duration.nanoseconds(Int64.max)
    conditions.gpus.value = [Int64.min, .max].map { GPU(id: "0", name: "gpu", memoryBytes: $0) }
    guard case .conditions(let held) = try WorkerMessage.conditions(conditions).heldToLimits() else { return }
    #expect(held.power.raw.utf8.count == 1024)
    #expect(held.battery.value == 100)
    #expect(held.thermal.age == .zero)
    #expect(held.network.age == WireLimits.longest)
    #expect(held.gpus.value?.map(\.memoryBytes) == [0, 1 << 50])
    let hello = try Self.hello { $0.capabilities.dailyAllowance = Duration.nanoseconds(Int64.min) }.heldToLimits()
    #expect(hello.capabilities.dailyAllowance == .zero)
  }

  @Test(
    arguments: [(Int64.min, 0), (-1, 0), (0, 0), (1 << 53, 1 << 53), (1 << 53 + 1, 1 << 53), (.max, 1 << 53)]
      as [(Int64, Int64)])
  func `units are counted within what every reader takes exactly`(said: Int64, held: Int64) throws {
    let checkpoint = Checkpoint(launch: Self.launch, batch: .max, completedUnits: said, totalUnits: said)
    guard case .checkpoint(let kept) = try WorkerMessage.checkpoint(checkpoint).heldToLimits() else { return }
    #expect([kept.completedUnits, kept.totalUnits] == [held, held])
    let update = LaunchUpdate(launch: Self.launch, completedUnits: said, totalUnits: said)
    guard case .update(let shown) = try WorkerMessage.update(update).heldToLimits() else { return }
    #expect([shown.completedUnits, shown.totalUnits] == [held, held])
  }

  @Test func `one item has a bound, and a wish for items is brought into range`() throws {
    let most = WireLimits.item.most
    let good = WorkerMessage.items(ItemPage(launch: Self.launch, start: 0, items: [Self.text(most)]))
    #expect(try good.heldToLimits() == good)
    let bad = WorkerMessage.items(ItemPage(launch: Self.launch, start: 0, items: [Self.text(most + 1)]))
    #expect(throws: WireError.self) { try bad.heldToLimits() }
    let wish = WorkerMessage.itemsWanted(Self.launch, start: .min, count: .max)
    #expect(try wish.heldToLimits() == .itemsWanted(Self.launch, start: 0, count: 1000))
    let output = OutputChunk(launch: Self.launch, bytes: [0] + Array(repeating: 1, count: 64 << 10))
    guard case .output(let kept) = try WorkerMessage.output(output).heldToLimits() else { return }
    #expect(kept.bytes == Array(repeating: 1, count: 64 << 10))
  }

  @Test func `an error is one short line, whatever it quotes`() {
    let error = WireError("'\(Self.text(1 << 20))\u{1B}[2J\n' is wrong")
    #expect(error.message.utf8.count <= 1100)
    #expect(WireError("a\u{1B}[2J\nb").message == "a\\u{1B}[2J\\nb")
  }

  // MARK: The page

  /// Compares the rows of `Documentation/reference/limits.md` between the heading and the next one. `BATON_RECORD=1`
  /// writes them.
  @Test func `the page has the table`() throws {
    let root = URL(filePath: #filePath).pathComponents.dropLast(4).joined(separator: "/").dropFirst()
    let path = root + "/Documentation/reference/limits.md"
    var lines = try String(contentsOfFile: String(path), encoding: .utf8).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex(of: "## On the wire"))
    let end = lines[(start + 1)...].firstIndex { $0.hasPrefix("## ") } ?? lines.count
    let found = lines[start..<end].filter { $0.hasPrefix("|") }.dropFirst(2)
    let rows = WireLimits.all.map(\.row)
    if ProcessInfo.processInfo.environment["BATON_RECORD"] == "1" {
      let first = try #require(lines[start..<end].firstIndex { $0.hasPrefix("|---") }) + 1
      let last = lines[first..<end].firstIndex { !$0.hasPrefix("|") } ?? end
      lines.replaceSubrange(first..<last, with: rows)
      try lines.joined(separator: "\n").write(toFile: String(path), atomically: true, encoding: .utf8)
    }
    #expect(Array(found) == rows)
    #expect(Set(WireLimits.all.map(\.name)).count == WireLimits.all.count)
  }
}

extension WireLimit {
  fileprivate var row: String {
    let number: String
    switch unit {
    case .bytes where most % (1 << 30) == 0: number = "\(most >> 30) GiB"
    case .bytes where most % 1024 == 0: number = "\(most >> 10) KiB"
    case .bytes: number = "\(most) bytes"
    case .characters: number = "\(most) characters"
    case .count: number = "\(most)"
    }
    return "| \(name) | \(number) | \(consequence) |"
  }
}
