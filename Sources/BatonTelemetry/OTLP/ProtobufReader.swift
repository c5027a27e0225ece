/// Why bytes from another process could not be decoded: they are not protobuf, or not a message that Baton reads.
package struct ProtobufError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// The bytes end in the middle of a field.
    case truncated
    /// The bytes contain a varint of more than 64 bits, a field number out of range, or a wire type that does not
    /// exist.
    case malformed
    /// A string is not UTF-8.
    case notText
    /// A field has a value that OTLP does not allow: an id of the wrong length or of zeros only, a time after the year
    /// 2262, a kind or status that does not exist, or the wrong wire type.
    case notAllowed
    /// The message is OTLP, but not OTLP that Baton writes: it has several resources or scopes, another scope than
    /// Baton's, or an attribute that is empty, raw bytes, a map, or an array of mixed types.
    case unsupported
    /// The message exceeds the `DecodingLimits`.
    case tooLarge
  }

  package var code: Code
  /// The position of the problem in the message, in bytes from its beginning.
  package var offset: Int

  package var description: String {
    switch code {
    case .truncated: "the answer ends within a field, at byte \(offset)"
    case .malformed: "the answer is not protobuf, at byte \(offset)"
    case .notText: "the answer has a text that is not UTF-8, at byte \(offset)"
    case .notAllowed: "the answer has a value that OTLP does not allow, at byte \(offset)"
    case .unsupported: "the answer has something that Baton does not write, at byte \(offset)"
    case .tooLarge: "the answer is larger than it may be, at byte \(offset)"
    }
  }
}

/// Reads the fields of a protobuf message one after the other. For any input, reading ends or throws; it never hangs or
/// traps. Nested messages and strings are slices of the original bytes, not copies.
struct ProtobufReader {
  /// The value of one field as it is on the wire. Groups, which have been out of use since proto2, count as malformed.
  enum Value: Hashable {
    case varint(UInt64)
    case fixed64(UInt64)
    case delimited(ArraySlice<UInt8>)
    case fixed32(UInt32)
  }

  private var rest: ArraySlice<UInt8>

  /// The position of the next field, in bytes from the beginning of the whole message.
  var offset: Int { rest.startIndex }

  /// - Parameter bytes: a whole message, or a slice of it that holds a nested message. Positions in errors count from
  ///   the beginning of the whole message.
  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Reads the next field; `nil` at the end.
  mutating func next() throws(ProtobufError) -> (number: UInt64, value: Value)? {
    guard !rest.isEmpty else { return nil }
    let tag = try varint()
    guard tag >> 3 > 0, tag >> 3 < 1 << 29 else { throw error(.malformed) }
    switch tag & 7 {
    case 0: return (tag >> 3, .varint(try varint()))
    case 1: return (tag >> 3, .fixed64(try little(8)))
    case 2: return (tag >> 3, .delimited(try take(try varint())))
    case 5: return (tag >> 3, .fixed32(UInt32(truncatingIfNeeded: try little(4))))
    default: throw error(.malformed)
    }
  }

  /// Decodes `bytes` as UTF-8. Throws `ProtobufError` with the code `.notText` if they are not UTF-8.
  func text(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ProtobufError(code: .notText, offset: bytes.startIndex)
    }
    return text
  }

  private mutating func varint() throws(ProtobufError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { throw error(.truncated) }
      guard shift < 63 || byte < 2 else { throw error(.malformed) }
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
    }
    throw error(.malformed)
  }

  private mutating func take(_ count: UInt64) throws(ProtobufError) -> ArraySlice<UInt8> {
    guard count <= UInt64(rest.count) else { throw error(.truncated) }
    defer { rest = rest.dropFirst(Int(count)) }
    return rest.prefix(Int(count))
  }

  private mutating func little(_ count: UInt64) throws(ProtobufError) -> UInt64 {
    try take(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// An error at the current position, which is the end of the field that was read last.
  func error(_ code: ProtobufError.Code) -> ProtobufError { ProtobufError(code: code, offset: offset) }
}
