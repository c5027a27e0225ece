import BatonModel
import ContractRows
import Testing

@Suite struct ValueTests {
  static let trace = String(repeating: "0af7651916cd43dd", count: 2)
  static let span = "b7ad6b7169203331"

  @Test(arguments: [("01", true), ("00", false), ("03", true), ("02", false), ("ff", true)])
  func `a traceparent is read and written, with its sampled flag`(flags: String, isSampled: Bool) throws {
    let context = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-\(flags)"))
    #expect(context.traceID.description == Self.trace)
    #expect(context.spanID.description == Self.span)
    #expect(context.isSampled == isSampled)
    #expect(context.traceparent == "00-\(Self.trace)-\(Self.span)-\(isSampled ? "01" : "00")")
  }

  @Test func `a later version may say more`() {
    #expect(TraceContext(traceparent: "01-\(Self.trace)-\(Self.span)-01-more") != nil)
    #expect(TraceContext(traceparent: "01-\(Self.trace)-\(Self.span)-01") != nil)
  }

  @Test(arguments: [
    "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-001",
    "00-\(trace)-\(span)-01-more", "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01", "000-\(trace)-\(span)-01",
    "00-\(trace.dropLast(2))-\(span)-01", "00-\(trace)00-\(span)-01", "00-\(trace.uppercased())-\(span)-01",
    "00-\(trace)-\(span.dropLast())-01", "00-\(trace)-\(span)0-01", "00-\(trace)-\(span.uppercased())-01",
    "00-\(String(repeating: "0", count: 32))-\(span)-01", "00-\(trace)-\(String(repeating: "0", count: 16))-01",
    "00-\(trace)-\(span)-0g", "00_\(trace)_\(span)_01", " 00-\(trace)-\(span)-01", "00-\(trace)-\(span)-01 ",
    "00-\(trace.dropLast())é-\(span)-01",
  ])
  func `a malformed traceparent is none`(text: String) { #expect(TraceContext(traceparent: text) == nil) }

  @Test(arguments: [[], [0], [255, 16, 1]] as [[UInt8]])
  func `hexadecimal text comes back`(bytes: [UInt8]) {
    #expect([UInt8](hexadecimal: bytes.hexadecimal) == bytes)
    #expect(bytes.hexadecimal.utf8.count == bytes.count * 2)
  }

  @Test(
    arguments: [
      (0, Duration.seconds(1), 1_000_000_000), (.max, .nanoseconds(1), .max), (.max - 1, .nanoseconds(1), .max),
      (.min, .nanoseconds(-1), .min), (0, .seconds(Int64.max), .max), (0, .seconds(Int64.min), .min),
      (5, .nanoseconds(-5), 0), (.max, .nanoseconds(-1), .max - 1),
    ] as [(Int64, Duration, Int64)])
  func `a date saturates instead of overflowing`(start: Int64, duration: Duration, end: Int64) {
    #expect(Timestamp(nanoseconds: start) + duration == Timestamp(nanoseconds: end))
  }

  @Test(
    arguments: [
      (5, 3, 2), (3, 5, -2), (.max, .min, .max), (.min, .max, .min), (.max, -1, .max), (.min, 1, .min),
    ] as [(Int64, Int64, Int64)])
  func `the time between two dates saturates`(later: Int64, earlier: Int64, between: Int64) {
    #expect(Timestamp(nanoseconds: later) - Timestamp(nanoseconds: earlier) == .nanoseconds(between))
  }

  @Test(
    arguments: [
      (Duration.zero, 0), (.nanoseconds(-1), -1), (.milliseconds(1500), 1_500_000_000),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min), (.nanoseconds(Int64.max), .max),
      (.seconds(9_223_372_036) + .nanoseconds(854_775_807), .max),
      (.seconds(9_223_372_036) + .nanoseconds(854_775_808), .max),
    ] as [(Duration, Int64)])
  func `a duration in nanoseconds saturates`(duration: Duration, nanoseconds: Int64) {
    #expect(duration.nanoseconds == nanoseconds)
  }

  @Test func `an instant saturates, and instants compare by time`() {
    #expect(Instant(nanoseconds: .max) + .seconds(1) == Instant(nanoseconds: .max))
    #expect(Instant(nanoseconds: 7) - Instant(nanoseconds: 2) == .nanoseconds(5))
    #expect(Instant(nanoseconds: 1) < Instant(nanoseconds: 2))
  }

  static let reasons =
    ExpiryReason.plain + [.cancelled(by: "ann"), .simulated(as: nil), .simulated(as: .stalled)]

  @Test func `each expiry reason comes back from its code and detail`() {
    for reason in Self.reasons { #expect(ExpiryReason(code: reason.code, detail: reason.detail) == reason) }
    #expect(Set(Self.reasons.map(\.code)).count == Self.reasons.count - 1, "what is simulated shares a code")
    #expect(ExpiryReason(code: "cancelled") == .cancelled(by: "unknown"))
    #expect(ExpiryReason(code: "budgetSpent", detail: "more") == .budgetSpent)
    #expect(ExpiryReason(code: "Draining") == nil)
    #expect(ExpiryReason(code: "") == nil)
  }

  @Test func `only stalling and a spent budget are strikes`() {
    #expect(Self.reasons.filter(\.isStrike) == [.budgetSpent, .stalled])
  }

  @Test(.contract(16.1), arguments: JobKind.allCases)
  func `a launch that can save nothing closes within two seconds, others within their kind's window`(kind: JobKind) {
    for reason in Self.reasons {
      let isUseless = reason == .leaseLost || reason == .superseded
      let window = isUseless ? Duration.seconds(2) : .seconds(kind == .refresh ? 5 : 30)
      #expect(reason.closingWindow(of: Fixture.job(kind)) == window)
    }
  }

  @Test func `a definition may set its own closing window`() {
    let job = Fixture.job(.refresh) { $0.closingWindow = .seconds(90) }
    #expect(ExpiryReason.paused.closingWindow(of: job) == .seconds(90))
    #expect(ExpiryReason.leaseLost.closingWindow(of: job) == .seconds(2))
    #expect(ExpiryReason.leaseLost.closingWindow(of: Fixture.job { $0.closingWindow = .seconds(1) }) == .seconds(1))
  }

  @Test func `a time of the steady clock is shown by the wall clock of now`() {
    let now = Moment(date: Timestamp(nanoseconds: 5_000), steady: Timestamp(nanoseconds: 2_000))
    #expect(now.date(ofSteady: Timestamp(nanoseconds: 2_500)) == Timestamp(nanoseconds: 5_500))
    #expect(now.date(ofSteady: .distantFuture) == .distantFuture)
    #expect(now + .nanoseconds(7) == Moment(date: Timestamp(nanoseconds: 5_007), steady: Timestamp(nanoseconds: 2_007)))
    #expect(Moment(Timestamp(nanoseconds: 3)).steady == Timestamp(nanoseconds: 3))
  }

  @Test func `computed items are counted and cut without a file system`() {
    #expect(Items.list(["a", "b", "c"]).computedCount == 3)
    #expect(Items.list(["a", "b", "c"]).computed(1..<3) == ["b", "c"])
    #expect(Items.list([]).computedCount == 0)
    #expect(Items.range(-1...1).computedCount == 3)
    #expect(Items.range(-1...1).computed(0..<3) == ["-1", "0", "1"])
    #expect(Items.range(5...9).computed(2..<2) == [])
    #expect(Items.range(Int64.max - 1...Int64.max).computed(0..<2) == ["9223372036854775806", "9223372036854775807"])
    for expanded in [Items.lines("f"), .glob("*")] {
      #expect(expanded.computedCount == nil)
      #expect(expanded.needsExpansion)
      #expect(expanded.computed(0..<2) == [])
    }
    #expect(!Items.range(1...2).needsExpansion)
  }

  @Test func `classes are ordered by priority, then by age`() {
    let classes = [(2, Priority.utility), (1, .utility), (3, .userInitiated), (4, .background)].map {
      RequirementClass(definition: DefinitionID($0.0), priority: $0.1)
    }
    #expect(classes.sorted().map(\.definition.rawValue) == [3, 1, 2, 4])
  }

  @Test(
    arguments: [
      (.refresh, .utility, .seconds(30), false),
      (.processing, .background, .seconds(600), true), (.continued, .userInitiated, nil, false),
    ] as [(JobKind, Priority, Duration?, Bool)])
  func `a definition has the defaults of its kind`(
    kind: JobKind, priority: Priority, budget: Duration?, requiresIdle: Bool
  ) {
    let definition = Definition(pattern: IdentifierPattern("a")!, kind: kind)
    #expect(definition.priority == priority)
    #expect(definition.budget == budget)
    #expect(definition.requirements == Requirements(requiresIdle: requiresIdle))
    #expect(definition.retry == RetryRule(limit: 3, backoff: .seconds(30)))
  }
}
