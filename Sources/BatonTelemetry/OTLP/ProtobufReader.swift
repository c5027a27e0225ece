/// Why bytes from another process were refused. `ProtobufReader` throws the first three codes; `OTLPDecoder` and
/// `TraceRequest` throw the others. Only answers are decoded: those of a backend, and that of the coordinator to
/// `baton trace`.
package struct ProtobufError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// The bytes end in the middle of a field.
    case truncated
    /// The bytes contain a varint of more than 64 bits, a field number out of range, or a wire type other than 0, 1, 2
    /// and 5.
    case malformed
    /// A string is not UTF-8.
    case notText
    /// A field that a span or a link must have is missing, has the wrong wire type, or has a value that cannot be kept:
    /// an id of the wrong length or of zeros only, a time after the year 2262, where `Timestamp` ends, a kind other
    /// than 1 to 5, or an unknown status.
    case notAllowed
    /// The message is OTLP, but not such as Baton writes: it does not have exactly one resource and one scope, the
    /// scope is not Baton's, or an attribute has no value, raw bytes, a map, a list within a list, or a list of mixed
    /// types.
    case unsupported
    /// A `TraceRequest` exceeds its `DecodingLimits`.
    case tooLarge
  }

  package var code: Code
  /// How far the reader was when it found the problem, in bytes from the beginning of the whole message. For `notText`
  /// it is the beginning of the text, and for a message that is too long the limit.
  package var offset: Int

  package var description: String {
    switch code {
    case .truncated: "the answer ends within a field, at byte \(offset)"
    case .malformed: "the answer is not protobuf, at byte \(offset)"
    case .notText: "the answer has a text that is not UTF-8, at byte \(offset)"
    case .notAllowed: "a value of the answer is missing or not valid, at byte \(offset)"
    case .unsupported: "the answer is not such as Baton writes, at byte \(offset)"
    case .tooLarge: "the answer is larger than it may be, at byte \(offset)"
    }
  }
}

/// Reads the fields of a protobuf message one after the other. For any input, reading ends or throws; it never hangs or
/// traps. A length-delimited value is a slice of the original bytes; only `text` copies.
struct ProtobufReader {
  /// The value of one field as it is on the wire. Groups, which were deprecated in proto2 and are not in proto3, count
  /// as malformed.
  enum Value: Hashable {
    case varint(UInt64)
    case fixed64(UInt64)
    /// A string, bytes or a nested message: its length, followed by so many bytes.
    case lengthDelimited(ArraySlice<UInt8>)
    case fixed32(UInt32)
  }

  private var rest: ArraySlice<UInt8>

  /// The position of the first byte that was not read yet, from the beginning of the whole message.
  var offset: Int { rest.startIndex }

  /// - Parameter bytes: a whole message, whose first index is 0, or a slice of it that holds a nested message, with its
  ///   indices unchanged. Positions in errors are such indices.
  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Reads the next field; `nil` at the end.
  mutating func next() throws(ProtobufError) -> (number: UInt64, value: Value)? {
    guard !rest.isEmpty else { return nil }
    let tag = try varint()
    let (number, wireType) = (tag >> 3, tag & 7)
    guard number > 0, number < 1 << 29 else { throw problem(.malformed) }
    switch wireType {
    case 0: return (number, .varint(try varint()))
    case 1: return (number, .fixed64(try littleEndian(bytes: 8)))
    case 2: return (number, .lengthDelimited(try take(try varint())))
    case 5: return (number, .fixed32(UInt32(truncatingIfNeeded: try littleEndian(bytes: 4))))
    default: throw problem(.malformed)
    }
  }

  /// Decodes `bytes` as UTF-8, and reads no further. Throws `ProtobufError` with the code `.notText` if the bytes are
  /// not UTF-8.
  func text(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ProtobufError(code: .notText, offset: bytes.startIndex)
    }
    return text
  }

  private mutating func varint() throws(ProtobufError) -> UInt64 {
    var value: UInt64 = 0
    // Ten bytes of 7 bits each. Of the tenth byte only the lowest bit fits into 64.
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { throw problem(.truncated) }
      guard shift < 63 || byte < 2 else { throw problem(.malformed) }
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
    }
    preconditionFailure("the tenth byte ends the number or is malformed")
  }

  private mutating func take(_ count: UInt64) throws(ProtobufError) -> ArraySlice<UInt8> {
    guard count <= UInt64(rest.count) else { throw problem(.truncated) }
    defer { rest = rest.dropFirst(Int(count)) }
    return rest.prefix(Int(count))
  }

  private mutating func littleEndian(bytes count: UInt64) throws(ProtobufError) -> UInt64 {
    try take(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// An error at the current position. For callers of `next` it is the end of the field that `next` returned last.
  func problem(_ code: ProtobufError.Code) -> ProtobufError { ProtobufError(code: code, offset: offset) }
}
