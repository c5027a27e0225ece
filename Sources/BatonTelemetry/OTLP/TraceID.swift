package import BatonModel

/// The id of a trace: 16 bytes, not all of them 0 (https://www.w3.org/TR/trace-context/#trace-id).
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes as a number, in big-endian order.
  package var high: UInt64
  /// The last eight bytes as a number, in big-endian order. If only a part of an id is random, it is this part;
  /// sampling therefore uses these bytes.
  package var low: UInt64

  package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  /// The trace id of a request's context.
  package init(of context: TraceContext) {
    self.init(
      high: UInt64(bigEndianBytes: context.traceID.prefix(8)), low: UInt64(bigEndianBytes: context.traceID.dropFirst(8))
    )
  }

  /// Creates an id; `nil` unless there are exactly 16 bytes.
  package init?(bytes: some Collection<UInt8>) {
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

  /// The id of the span that a context names. It is the parent of the spans that are made in that context.
  package init(of context: TraceContext) { self.init(UInt64(bigEndianBytes: context.spanID)) }

  /// Creates an id; `nil` unless there are exactly 8 bytes.
  package init?(bytes: some Collection<UInt8>) {
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
