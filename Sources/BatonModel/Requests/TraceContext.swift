/// The W3C trace context of a request. Every span of every launch of the request has this trace id.
package struct TraceContext: Hashable, Sendable {
  package var traceID: TraceID
  /// The id of the span that is the parent of the spans that are made in this context.
  package var spanID: SpanID
  package var isSampled: Bool

  package init(traceID: TraceID, spanID: SpanID, isSampled: Bool) {
    (self.traceID, self.spanID, self.isSampled) = (traceID, spanID, isSampled)
  }

  /// The value of the `traceparent` header: `00-<trace id>-<span id>-<flags>`, see
  /// https://www.w3.org/TR/trace-context/.
  package var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

  /// Parses a `traceparent` of version 00 or later. The result is `nil` if the text is not well formed, or if an id is
  /// zero.
  package init?(traceparent: String) {
    let digits = Array(traceparent.utf8)
    // Version, trace id, span id and flags, with dashes between them. A later version may continue after another dash.
    guard digits.count >= 55, [2, 35, 52].allSatisfy({ digits[$0] == UInt8(ascii: "-") }),
      let version = [UInt8](hexadecimal: digits[0..<2]), version != [0xff],
      digits.count == 55 || version != [0] && digits[55] == UInt8(ascii: "-"),
      let trace = [UInt8](hexadecimal: digits[3..<35]).flatMap(TraceID.init(bytes:)), trace.isValid,
      let span = [UInt8](hexadecimal: digits[36..<52]).flatMap(SpanID.init(bytes:)), span.isValid,
      let flags = [UInt8](hexadecimal: digits[53..<55])
    else { return nil }
    self.init(traceID: trace, spanID: span, isSampled: flags[0] & 1 == 1)
  }
}

/// The id of a trace: 16 bytes, not all of them 0 (https://www.w3.org/TR/trace-context/#trace-id).
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes as a number, in big-endian order.
  package var high: UInt64
  /// The last eight bytes as a number, in big-endian order. If only a part of an id is random, it is this part;
  /// sampling therefore uses these bytes.
  package var low: UInt64

  package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  /// Creates an id; `nil` unless there are exactly 16 bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.init(high: UInt64(bigEndianBytes: bytes.prefix(8)), low: UInt64(bigEndianBytes: bytes.dropFirst(8)))
  }

  /// Parses exactly 32 hexadecimal digits in lower case, as in `traceparent`; `nil` for any other text.
  package init?(hex: some StringProtocol) {
    guard let bytes = [UInt8](hexadecimal: hex) else { return nil }
    self.init(bytes: bytes)
  }

  package var bytes: [UInt8] { high.bigEndianBytes + low.bigEndianBytes }
  /// The id as 32 hexadecimal digits in lower case.
  package var description: String { bytes.hexadecimal }
  /// False for 16 zero bytes, which mean that there is no trace; a backend refuses such an id.
  package var isValid: Bool { high != 0 || low != 0 }
}

/// The id of a span within its trace: 8 bytes, not all of them 0.
package struct SpanID: Hashable, Sendable, CustomStringConvertible {
  /// The eight bytes as a number, in big-endian order.
  package var number: UInt64

  package init(_ number: UInt64) { self.number = number }

  /// Creates an id; `nil` unless there are exactly 8 bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 8 else { return nil }
    self.init(UInt64(bigEndianBytes: bytes))
  }

  /// Parses exactly 16 hexadecimal digits in lower case; `nil` for any other text.
  package init?(hex: some StringProtocol) {
    guard let bytes = [UInt8](hexadecimal: hex) else { return nil }
    self.init(bytes: bytes)
  }

  package var bytes: [UInt8] { number.bigEndianBytes }
  /// The id as 16 hexadecimal digits in lower case.
  package var description: String { bytes.hexadecimal }
  /// False for 8 zero bytes, which mean that there is no span.
  package var isValid: Bool { number != 0 }
}

extension UInt64 {
  /// The number whose big-endian bytes are `bytes`.
  fileprivate init(bigEndianBytes bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }
  fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

extension [UInt8] {
  /// The bytes in hexadecimal, with two digits in lower case for each byte.
  package var hexadecimal: String {
    String(unsafeUninitializedCapacity: count * 2) { digits in
      for (index, byte) in enumerated() {
        digits[index * 2] = Self.digit(byte >> 4)
        digits[index * 2 + 1] = Self.digit(byte & 15)
      }
      return count * 2
    }
  }

  /// Decodes hexadecimal digits. The result is `nil` unless `text` is an even number of digits in lower case.
  package init?(hexadecimal text: some StringProtocol) { self.init(hexadecimal: Array(text.utf8)[...]) }

  package init?(hexadecimal digits: ArraySlice<UInt8>) {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for index in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
      guard let high = Self.nibble(digits[index]), let low = Self.nibble(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    self = bytes
  }

  private static func digit(_ nibble: UInt8) -> UInt8 {
    nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") - 10 + nibble
  }

  private static func nibble(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
