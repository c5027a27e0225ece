/// What a peer sent is not protobuf, or not the message that it should be.
package struct ProtobufError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// It ends in the middle of a field.
    case truncated
    /// A varint of more than 64 bits, the field number 0, or a wire type that does not exist.
    case malformed
    /// A string is not UTF-8.
    case notText
    /// A field has a value that OTLP does not allow: an id of another length or all zeros, a time after the year 2262, a
    /// kind or a status that does not exist, a field of another type.
    case notAllowed
    /// It is OTLP, but nothing that Baton writes: several resources or scopes, another scope, an attribute that is
    /// empty, raw bytes, a map, or a list that is not of one simple type.
    case unsupported
    /// There is more of it than the `DecodingLimits` allow.
    case tooLarge
  }

  package var code: Code
  /// Where in the message, in bytes.
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

/// Reads protobuf fields one after the other. Whatever the bytes are, it ends or throws, and it copies nothing large.
struct ProtobufReader {
  /// One field as it is on the wire; groups, which nobody has used since proto2, are malformed.
  enum Value: Hashable {
    case varint(UInt64)
    case fixed64(UInt64)
    case delimited(ArraySlice<UInt8>)
    case fixed32(UInt32)
  }

  private var rest: ArraySlice<UInt8>

  /// Where the next field begins, in bytes.
  var offset: Int { rest.startIndex }

  /// - Parameter bytes: a whole message, or a field of one: errors say where in the whole.
  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// The next field, nil at the end.
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

  /// `bytes` as text.
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

  /// What is wrong with the field that was just read, or with where it should go on.
  func error(_ code: ProtobufError.Code) -> ProtobufError { ProtobufError(code: code, offset: offset) }
}
