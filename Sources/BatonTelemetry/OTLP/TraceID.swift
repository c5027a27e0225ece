package import BatonModel

/// The identity of a trace: 16 bytes, not all of them 0 (https://www.w3.org/TR/trace-context/#trace-id).
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes, the first of them highest.
  package var high: UInt64
  /// The last eight bytes: the ones that are random wherever any are, so that sampling goes by them.
  package var low: UInt64

  package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  /// The trace of a request.
  package init(of context: TraceContext) {
    self.init(
      high: UInt64(bigEndianBytes: context.traceID.prefix(8)), low: UInt64(bigEndianBytes: context.traceID.dropFirst(8))
    )
  }

  /// Nil unless there are exactly 16.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.init(high: UInt64(bigEndianBytes: bytes.prefix(8)), low: UInt64(bigEndianBytes: bytes.dropFirst(8)))
  }

  /// Nil unless it is exactly 32 digits in lower case, as `traceparent` has them.
  package init?(hex: some StringProtocol) {
    guard let bytes = [UInt8](hexadecimal: hex) else { return nil }
    self.init(bytes: bytes)
  }

  package var bytes: [UInt8] { high.bigEndianBytes + low.bigEndianBytes }
  /// 32 digits in lower case.
  package var description: String { bytes.hexadecimal }
  /// False for 16 zeros, which mean that there is no trace; a backend refuses them.
  package var isValid: Bool { high != 0 || low != 0 }
}

/// The identity of a span within its trace: 8 bytes, not all of them 0.
package struct SpanID: Hashable, Sendable, CustomStringConvertible {
  /// The eight bytes, the first of them highest.
  package var number: UInt64

  package init(_ number: UInt64) { self.number = number }

  /// The span that a context names: the parent of what is made in it.
  package init(of context: TraceContext) { self.init(UInt64(bigEndianBytes: context.spanID)) }

  /// Nil unless there are exactly 8.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 8 else { return nil }
    self.init(UInt64(bigEndianBytes: bytes))
  }

  /// Nil unless it is exactly 16 digits in lower case.
  package init?(hex: some StringProtocol) {
    guard let bytes = [UInt8](hexadecimal: hex) else { return nil }
    self.init(bytes: bytes)
  }

  package var bytes: [UInt8] { number.bigEndianBytes }
  /// 16 digits in lower case.
  package var description: String { bytes.hexadecimal }
  /// False for 8 zeros, which mean that there is no span.
  package var isValid: Bool { number != 0 }
}

extension UInt64 {
  /// Eight bytes, the first of them highest.
  fileprivate init(bigEndianBytes bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }
  fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
