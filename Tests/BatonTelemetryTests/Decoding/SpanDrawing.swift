import BatonModel
import BatonTelemetry

/// Draws the same requests for the same seed.
struct SpanDrawing: RandomNumberGenerator {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func request() -> TraceRequest {
    TraceRequest(resource: Resource(attributes()), spans: list(5) { $0.span() }, version: text())
  }

  private mutating func span() -> SpanRecord {
    SpanRecord(
      trace: trace(), id: id(), parent: Bool.random(using: &self) ? id() : nil, traceState: text(), name: text(),
      kind: SpanKind.allCases.randomElement(using: &self) ?? .internal, start: time(), end: time(),
      attributes: attributes(),
      events: list(4) { SpanEvent(time: $0.time(), name: $0.text(), attributes: $0.attributes()) },
      links: list(3) { $0.link() }, status: status(), flags: SpanFlags(rawValue: .random(in: 0...(.max), using: &self)))
  }

  private mutating func link() -> SpanLink {
    SpanLink(
      trace: trace(), span: id(), traceState: text(), attributes: attributes(),
      flags: SpanFlags(rawValue: .random(in: 0...0x3ff, using: &self)))
  }

  private mutating func status() -> SpanStatus {
    [.unset, .ok, .error(""), .error(text())].randomElement(using: &self) ?? .unset
  }

  private mutating func attributes() -> [Attribute] { list(5) { Attribute($0.text(), $0.value()) } }

  private mutating func value() -> AttributeValue {
    switch Int.random(in: 0..<8, using: &self) {
    case 0: .string(text())
    case 1: .bool(.random(using: &self))
    case 2: .int(number())
    case 3: .double(Double(bitPattern: next()))
    case 4: .strings(list(4) { $0.text() })
    case 5: .bools(list(4) { .random(using: &$0) })
    case 6: .ints(list(4) { $0.number() })
    default: .doubles(list(4) { Double(bitPattern: $0.next()) })
    }
  }

  /// A number; often one at which the length of its encoding changes.
  private mutating func number() -> Int64 {
    let edges: [Int64] = [0, 1, -1, 127, 128, 16_383, 16_384, .max, .min]
    return Bool.random(using: &self) ? edges.randomElement(using: &self) ?? 0 : .random(in: .min ... .max, using: &self)
  }

  private mutating func time() -> Timestamp { Timestamp(nanoseconds: number()) }
  private mutating func trace() -> TraceID { TraceID(high: next(), low: next() | 1) }
  private mutating func id() -> SpanID { SpanID(next() | 1) }

  private mutating func text() -> String {
    let parts = ["", "a", "é", "e\u{301}", "🏃", "\0", "\u{2028}", "\"", String(repeating: "long ", count: 30)]
    return list(3) { parts.randomElement(using: &$0) ?? "" }.joined()
  }

  private mutating func list<Element>(_ limit: Int, _ element: (inout Self) -> Element) -> [Element] {
    (0..<Int.random(in: 0...limit, using: &self)).map { _ in element(&self) }
  }

  // MARK: Damage

  /// The bytes with one to four changes, as a broken or hostile peer might make them.
  mutating func damage(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty { damageOnce(&bytes) }
    return bytes
  }

  private mutating func damageOnce(_ bytes: inout [UInt8]) {
    let place = Int.random(in: 0..<bytes.count, using: &self)
    let piece = place..<min(bytes.count, place + Int.random(in: 1...9, using: &self))
    switch Int.random(in: 0..<6, using: &self) {
    case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
    case 1: bytes[place] = .random(in: 0...255, using: &self)
    case 2: bytes.removeSubrange(piece)
    case 3: bytes.removeSubrange(place...)
    case 4: bytes.insert(contentsOf: bytes[piece], at: place)
    default: bytes.replaceSubrange(piece, with: [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])
    }
  }
}
