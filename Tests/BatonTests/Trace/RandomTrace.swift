import BatonModel
import BatonTelemetry

/// A random number generator that draws the same numbers for the same seed (Knuth's MMIX generator).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }

  init(seed: UInt64) { state = seed }
}

extension RequestTrace {
  /// A trace that no coordinator makes: times in any order, cycles of parents, repeated ids, attributes of wrong types.
  static func random(using generator: inout SeededGenerator) -> RequestTrace {
    let spans = (0..<Int.random(in: 0...30, using: &generator)).map { _ in SpanRecord.random(using: &generator) }
    let open = Set(spans.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }.map(\.id))
    return RequestTrace(spans: spans, open: open, asOf: .random(using: &generator))
  }
}

extension SpanRecord {
  fileprivate static func random(using generator: inout SeededGenerator) -> SpanRecord {
    let names = Names.Span.allCases.map { $0.name(of: "a") } + ["", "other", "launch"]
    return SpanRecord(
      trace: TraceID(high: 1, low: 1), id: SpanID(.random(in: 1...20, using: &generator)),
      parent: Bool.random(using: &generator) ? SpanID(.random(in: 1...20, using: &generator)) : nil,
      name: names.randomElement(using: &generator) ?? "", kind: .internal, start: .random(using: &generator),
      end: .random(using: &generator), attributes: [Attribute].random(using: &generator),
      events: (0..<Int.random(in: 0...5, using: &generator)).map { _ in
        SpanEvent(
          time: .random(using: &generator),
          name: [Names.Event.obstacleCame, Names.Event.obstacleWent, "baton.poked", ""]
            .randomElement(using: &generator) ?? "",
          attributes: [Attribute].random(using: &generator))
      }, status: Bool.random(using: &generator) ? .error("wrong") : .unset)
  }
}

extension [Attribute] {
  fileprivate static func random(using generator: inout SeededGenerator) -> [Attribute] {
    let keys = [
      Names.Attribute.launch, Names.Attribute.batches, Names.Attribute.host, Names.Attribute.obstacle,
      Names.Attribute.launchOutcome, Names.Attribute.expiryReason, Names.Attribute.requestState, "other",
    ]
    let values: [AttributeValue] = [
      .int(.max), .int(.min), 1, "expired", "lost", "succeeded", "", "thermal", true, .double(.nan),
      .strings(["", "a"]),
    ]
    return keys.filter { _ in Bool.random(using: &generator) }
      .map { Attribute($0, values.randomElement(using: &generator) ?? "") }
  }
}

extension Timestamp {
  fileprivate static func random(using generator: inout SeededGenerator) -> Timestamp {
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: Timestamp(nanoseconds: .random(in: .min ... .max, using: &generator))
    case 1: Timestamp(nanoseconds: [.min, .max, 0].randomElement(using: &generator) ?? 0)
    default: TraceSample.at(.random(in: -10...1000, using: &generator))
    }
  }
}
