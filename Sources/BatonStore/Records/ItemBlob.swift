/// Encodes a page of items as bytes: for each item its length in four bytes (little-endian), followed by its UTF-8. An
/// item may contain any character, including newlines and NUL.
enum ItemBlob {
  static func encode(_ items: [String]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(items.reduce(0) { $0 + 4 + $1.utf8.count })
    for item in items {
      withUnsafeBytes(of: UInt32(item.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: item.utf8)
    }
    return bytes
  }

  /// Decodes the items at the positions in `range`. Items before the range are skipped, and items after it are not
  /// read.
  /// - Throws: `.corrupt` if the bytes end too early.
  static func decode(_ bytes: [UInt8], _ range: Range<Int>) throws -> [String] {
    var items: [String] = []
    var position = 0
    for index in 0..<range.upperBound {
      guard position + 4 <= bytes.count else { throw damaged }
      let length = (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
      position += 4
      guard position + length <= bytes.count else { throw damaged }
      if index >= range.lowerBound {
        items.append(String(decoding: bytes[position..<position + length], as: UTF8.self))
      }
      position += length
    }
    return items
  }

  private static var damaged: StoreError { StoreError(.corrupt, "A page of items in the database is damaged.") }
}
