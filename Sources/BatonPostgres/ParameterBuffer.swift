/// The values of one statement in PostgreSQL's binary format, in the form in which libpq takes them. A connection uses
/// one buffer for all its statements, so that a statement costs no allocation.
struct ParameterBuffer {
  private var bytes: [UInt8] = []
  /// Where each value begins in `bytes`; `nil` for null.
  private var starts: [Int?] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []

  /// More than this is given back after the statement, so that one large blob does not cost its memory for ever.
  private static let mostKeptBytes = 1 << 20

  /// The number of bytes of all values.
  var size: Int { bytes.count }

  mutating func fill(_ values: [PostgresValue]) {
    bytes.removeAll(keepingCapacity: bytes.capacity <= Self.mostKeptBytes)
    starts.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    for value in values { append(value) }
    // 1 is the binary format.
    if formats.count < values.count { formats = Array(repeating: 1, count: values.count) }
  }

  /// Calls `body` with what `PQsendQueryPrepared` takes: the number of values, their bytes, lengths and formats. The
  /// pointers are valid during the call.
  func withParameters<Result>(
    _ body: (
      Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
    ) -> Result
  ) -> Result {
    bytes.withUnsafeBytes { bytes in
      withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: starts.count) { pointers in
        for (index, start) in starts.enumerated() {
          pointers.initializeElement(at: index, to: start.map { bytes.pointer(at: $0) })
        }
        return lengths.withUnsafeBufferPointer { lengths in
          formats.withUnsafeBufferPointer { formats in
            body(
              Int32(starts.count), UnsafePointer(pointers.baseAddress), lengths.baseAddress, formats.baseAddress)
          }
        }
      }
    }
  }

  private mutating func append(_ value: PostgresValue) {
    let start = bytes.count
    switch value {
    case .null, .nullOf:
      starts.append(nil)
      return lengths.append(0)
    case .integer(let value): append(bigEndian: value)
    case .text(let value): append(value)
    case .blob(let value): bytes.append(contentsOf: value)
    case .integers(let values):
      append(array: values, of: .integer, size: 8) { $0.append(bigEndian: $1) }
    case .texts(let values):
      append(array: values, of: .text, size: 16) { $0.append($1) }
    case .blobs(let values):
      append(array: values, of: .blob, size: 16) { $0.bytes.append(contentsOf: $1) }
    }
    starts.append(start)
    lengths.append(Int32(clamping: bytes.count - start))
  }

  private mutating func append(_ text: String) {
    guard text.utf8.contains(0) else { return bytes.append(contentsOf: text.utf8) }
    for byte in text.utf8 { bytes.append(contentsOf: byte == 0 ? [0xEF, 0xBF, 0xBD] : [byte]) }
  }

  /// The binary format of an array of one dimension (array_recv in arrayfuncs.c): dimensions, a flag for nulls, the
  /// type of the elements, their number, the first subscript; then each element's length and bytes. An empty array has
  /// no dimension.
  private mutating func append<Element>(
    array: [Element?], of type: PostgresType, size: Int, _ append: (inout ParameterBuffer, Element) -> Void
  ) {
    bytes.reserveCapacity(bytes.count + 20 + array.count * (4 + size))
    self.append(bigEndian: Int32(array.isEmpty ? 0 : 1))
    self.append(bigEndian: Int32(array.contains { $0 == nil } ? 1 : 0))
    self.append(bigEndian: type.oid)
    if array.isEmpty { return }
    self.append(bigEndian: Int32(clamping: array.count))
    self.append(bigEndian: Int32(1))
    for element in array { self.append(element: element, append) }
  }

  private mutating func append<Element>(
    element: Element?, _ append: (inout ParameterBuffer, Element) -> Void
  ) {
    guard let element else { return self.append(bigEndian: Int32(-1)) }
    let length = bytes.count
    self.append(bigEndian: Int32(0))
    append(&self, element)
    write(bigEndian: Int32(clamping: bytes.count - length - 4), at: length)
  }

  private mutating func append(bigEndian value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func write(bigEndian value: Int32, at position: Int) {
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: value.bigEndian, toByteOffset: position, as: Int32.self) }
  }
}

extension UnsafeRawBufferPointer {
  /// A value without bytes needs a pointer too, because a null pointer stands for null.
  fileprivate func pointer(at offset: Int) -> UnsafePointer<CChar> {
    guard let baseAddress else { return ParameterBuffer.noBytes }
    return (baseAddress + offset).assumingMemoryBound(to: CChar.self)
  }
}

extension ParameterBuffer {
  /// An address that is never read.
  fileprivate static var noBytes: UnsafePointer<CChar> { UnsafePointer(bitPattern: 1)! }
}
