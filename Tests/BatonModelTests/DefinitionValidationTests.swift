import BatonModel
import Testing

/// The lowest and the highest value of each range are accepted, and the values just beyond them are refused.
@Suite struct DefinitionValidationTests {
  private static func job(
    _ pattern: String = "com.example.a", _ kind: JobKind = .processing, _ change: (inout Definition) -> Void = { _ in }
  ) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(trusted: pattern), kind: kind)
    definition.work = Work(command: ["true"])
    if kind == .continued { definition.title = "T" }
    change(&definition)
    return definition
  }

  struct Bound: Sendable, CustomStringConvertible {
    var field: String
    var taken: [Definition]
    var refused: [Definition]
    var description: String { field }
  }

  private static func whole(
    _ field: String, _ range: ClosedRange<Int>, _ set: (inout Definition, Int) -> Void
  ) -> Bound {
    func job(_ value: Int) -> Definition { Self.job(field == "maxRunning" ? "a.*" : "a") { set(&$0, value) } }
    return Bound(
      field: field, taken: [job(range.lowerBound), job(range.upperBound)],
      refused: [job(range.lowerBound - 1), job(range.upperBound + 1), job(.min), job(.max)])
  }

  private static func time(
    _ field: String, _ range: ClosedRange<Duration>, _ kind: JobKind = .processing,
    _ set: (inout Definition, Duration) -> Void
  ) -> Bound {
    func job(_ value: Duration) -> Definition { Self.job("com.example.a", kind) { set(&$0, value) } }
    let one = Duration(attoseconds: 1)
    return Bound(
      field: field, taken: [job(range.lowerBound), job(range.upperBound)],
      refused: [
        job(range.lowerBound - one), job(range.upperBound + one), job(Duration(attoseconds: .min)),
        job(Duration(attoseconds: .max)),
      ])
  }

  private static let long = Duration.zero...Definition.Limits.longestDuration
  private static let positive = Duration.nanoseconds(1)...Definition.Limits.longestDuration

  private static let bounds: [Bound] = [
    whole("slots", 1...1024) { $0.requirements.slots = $1 },
    whole("gpu.count", 1...1024) { $0.requirements.gpu = GPURequirement(count: $1) },
    whole("retry.limit", 0...1000) { $0.retry.limit = $1 },
    whole("maxRunning", 1...100_000) { $0.maxRunning = $1 },
    whole("pendingLimit", 1...2_000_000) { $0.pendingLimit = $1 },
    whole("work.batchSize", 1...100_000) { $0.work?.batchSize = $1 },
    time("budget", positive) { $0.budget = $1 },
    time("repeat.every", positive) { $0.repeatEvery = $1 },
    time("retry.backoff", long) { $0.retry.backoff = $1 },
    time("retry.jitter", .zero...(.seconds(86_400))) { $0.retry.jitter = $1 },
    time("batchTimeout", .seconds(1)...(.seconds(7 * 86_400))) { $0.batchTimeout = $1 },
    time("earliestBeginDate", long) { $0.earliestBeginDate = .afterSubmission($1) },
    time("closingWindow", .seconds(1)...(.seconds(600))) { $0.closingWindow = $1 },
    time("stallAfter", .seconds(1)...(.seconds(86_400))) { $0.stallAfter = $1 },
    time("dailyAllowance", .seconds(1)...(.seconds(86_400))) { $0.dailyAllowance = $1 },
    time("pokeSpacing", .zero...(.seconds(7 * 86_400))) { $0.pokeSpacing = $1 },
    time("work.terminateBefore", .zero...(.seconds(30))) { $0.work?.terminateBefore = $1 },
    Bound(
      field: "gpu.memory", taken: [1, .max].map(memory), refused: [0, -1, .min].map(memory)),
    Bound(
      field: "work.items.range", taken: [0...999_999_999, -500_000_000...499_999_999, .max...Int64.max].map(range),
      refused: [0...1_000_000_000, .min...Int64.max, -1...Int64.max].map(range)),
    Bound(
      field: "title", taken: ["x", String(repeating: "ü", count: 200), "שלום\u{200F}"].map(title),
      refused: [
        "", " ", "\u{2003}", String(repeating: "ü", count: 201), "a\nb", "a\u{7F}", "a\u{85}b", "\u{202E}a", "\u{2028}",
      ]
      .map(title)),
    Bound(
      field: "identifier", taken: ["a", "a.*", String(repeating: "x", count: 255)].map { job($0) },
      refused: ["", "*", ".*", "a..b", "a.*.b", "a/b", "ü", "a\n", String(repeating: "x", count: 256)].map { job($0) }),
  ]

  private static func range(_ range: ClosedRange<Int64>) -> Definition { job { $0.work?.items = .range(range) } }
  private static func memory(_ bytes: Int64) -> Definition {
    job { $0.requirements.gpu = GPURequirement(memoryBytes: bytes) }
  }
  private static func title(_ text: String) -> Definition { job { $0.title = text } }

  @Test(arguments: bounds)
  func `a bound includes its ends, and nothing beyond`(bound: Bound) {
    for definition in bound.taken { #expect(throws: Never.self) { try definition.validate() } }
    for definition in bound.refused {
      let problem = #expect(throws: DefinitionProblem.self) { try definition.validate() }
      #expect(problem?.field == bound.field)
    }
  }

  @Test func `how many items a range has never overflows`() {
    #expect(Items.range(.min ... .max).computedCount == .max)
    #expect(Items.range(-1 ... .max).computedCount == .max)
    #expect(Items.range(0 ... .max).computedCount == .max)
    #expect(Items.range(1 ... .max).computedCount == .max)
    #expect(Items.range(.max ... .max).computedCount == 1)
    #expect(Items.range(-2...2).computedCount == 5)
  }

  @Test func `the difference of two instants never overflows`() {
    let (first, last) = (Instant(nanoseconds: .min), Instant(nanoseconds: .max))
    let (forward, backward): (Duration, Duration) = (last - first, first - last)
    #expect(forward.nanoseconds == Int64.max)
    #expect(backward.nanoseconds == Int64.min)
    #expect(first + .seconds(-1) == first)
  }

  @Test func `a host that says it has fewer slots than none has none free`() {
    var host = Host(name: HostName("a"), capabilities: Capabilities(slots: .min), conditions: .assumed)
    host.usedSlots = 1
    #expect(host.freeSlots == 0)
  }
}
