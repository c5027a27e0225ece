/// Splits a stream of pieces into lines. It never keeps more than one line and one piece.
struct LineBuffer {
  /// The longest line, in bytes, without its line feed.
  let limit: Int
  private var bytes: [UInt8] = []
  /// The index at which the next line begins.
  private var start = 0
  /// There is no line feed before this index.
  private var searched = 0

  init(limit: Int) { self.limit = limit }

  /// Adds a piece. Returns `false` if the line without an end has become longer than `limit`.
  mutating func append(_ chunk: [UInt8]) -> Bool {
    if start > 0 {
      bytes.removeFirst(start)
      searched -= start
      start = 0
    }
    bytes += chunk
    return bytes[searched...].contains(UInt8(ascii: "\n")) || bytes.count <= limit
  }

  /// The next complete line without its line feed; `nil` if there is none yet.
  mutating func next() -> [UInt8]? {
    guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = bytes.count
      return nil
    }
    defer { (start, searched) = (end + 1, end + 1) }
    return Array(bytes[start..<end])
  }

  /// Takes the bytes after the last line feed; `nil` if there are none.
  mutating func takeRest() -> [UInt8]? {
    defer { (bytes, start, searched) = ([], 0, 0) }
    return start < bytes.count ? Array(bytes[start...]) : nil
  }
}
