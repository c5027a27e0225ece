/// Writes protobuf fields in one pass into one array.
///
/// A nested message is written in place; afterwards its length is inserted before it, in as few bytes as the length
/// needs. The result is the same canonical encoding that other encoders write. Field numbers and types are those of
/// https://github.com/open-telemetry/opentelemetry-proto/tree/v1.3.2; the wire format is
/// https://protobuf.dev/programming-guides/encoding.
package struct ProtobufWriter {
  package private(set) var bytes: [UInt8] = []

  /// Reserves room for `count` more bytes.
  mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

  /// The protobuf wire types that OTLP uses.
  enum WireType: UInt64 {
    case varint = 0
    case fixed64 = 1
    case delimited = 2
    case fixed32 = 5
  }

  /// Writes a plain field. A field at its default value is left out, as in proto3.
  mutating func field(_ number: Int, unlessZero value: UInt64) {
    if value != 0 { member(number, varint: value) }
  }

  mutating func field(_ number: Int, unlessEmpty value: String) {
    if !value.utf8.isEmpty { member(number, string: value) }
  }

  mutating func field(_ number: Int, unlessZeroFixed32 value: UInt32) {
    guard value != 0 else { return }
    tag(number, .fixed32)
    little(value)
  }

  mutating func field(_ number: Int, unlessZeroFixed64 value: UInt64) {
    if value != 0 { member(number, fixed64: value) }
  }

  /// Writes a member of a `oneof` or an element of an array. It is written even at its default value, because otherwise
  /// it would be missing.
  mutating func member(_ number: Int, varint value: UInt64) { head(number, .varint, value) }

  mutating func member(_ number: Int, fixed64 value: UInt64) {
    tag(number, .fixed64)
    little(value)
  }

  mutating func member(_ number: Int, string value: String) {
    var value = value
    value.withUTF8 {
      head(number, .delimited, UInt64($0.count))
      bytes.append(contentsOf: $0)
    }
  }

  /// Writes an id of eight bytes, the highest byte first.
  mutating func member(_ number: Int, bigEndian value: UInt64) {
    head(number, .delimited, 8)
    little(value.byteSwapped)
  }

  /// Writes an id of sixteen bytes, the highest byte first.
  mutating func member(_ number: Int, bigEndian high: UInt64, _ low: UInt64) {
    head(number, .delimited, 16)
    little(high.byteSwapped)
    little(low.byteSwapped)
  }

  /// Writes a repeated field of type `fixed64` or `double`, packed as in proto3. An empty array is left out.
  mutating func field(_ number: Int, packed values: [UInt64]) {
    guard !values.isEmpty else { return }
    head(number, .delimited, UInt64(values.count * 8))
    for value in values { little(value) }
  }

  /// Writes a nested message. The field is present even if `body` writes nothing.
  mutating func message(_ number: Int, _ body: (inout Self) -> Void) {
    head(number, .delimited, 0)
    let start = bytes.count
    body(&self)
    setLength(bytes.count - start, at: start - 1)
  }

  /// Writes the length of the nested message that begins after index `start`. One byte has been reserved for the
  /// length; further bytes are inserted if it needs them.
  private mutating func setLength(_ length: Int, at start: Int) {
    guard length > 0x7f else {
      bytes[start] = UInt8(length)
      return
    }
    let more = (length.bitWidth - length.leadingZeroBitCount - 1) / 7
    bytes.insert(contentsOf: repeatElement(0, count: more), at: start)
    for place in 0...more { bytes[start + place] = UInt8(truncatingIfNeeded: length >> (7 * place)) | 0x80 }
    bytes[start + more] &= 0x7f
  }

  private mutating func tag(_ number: Int, _ type: WireType) { varint(UInt64(number) << 3 | type.rawValue) }

  /// Writes a tag and the value or length that follows it. Nearly always both take one byte each and are appended in
  /// one step.
  private mutating func head(_ number: Int, _ type: WireType, _ value: UInt64) {
    let tag = UInt64(number) << 3 | type.rawValue
    guard (tag | value) < 0x80 else {
      varint(tag)
      return varint(value)
    }
    little(UInt16(truncatingIfNeeded: tag | value << 8))
  }

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest > 0x7f {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  private mutating func little<Value: FixedWidthInteger>(_ value: Value) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }
}

/// A value that is one OTLP message. Two values are equal if their encoded bytes are equal: the `==` of `String` and
/// `Double` would take different Unicode forms of `é`, and 0.0 and -0.0, for equal, although their bytes differ.
package protocol OTLPMessage: Hashable, Sendable {
  /// Appends the fields of this message to the content of `writer`.
  func write(to writer: inout ProtobufWriter)
}

extension OTLPMessage {
  /// The message encoded as protobuf, without a length in front.
  package var protobuf: [UInt8] {
    var writer = ProtobufWriter()
    write(to: &writer)
    return writer.bytes
  }

  package static func == (left: Self, right: Self) -> Bool { left.protobuf == right.protobuf }
  package func hash(into hasher: inout Hasher) { hasher.combine(protobuf) }
}
