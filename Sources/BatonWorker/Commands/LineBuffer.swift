/// Cuts what comes in pieces into lines, and remembers no more than a line and a piece.
struct LineBuffer {
  /// Longest line, in bytes, without its end.
  let limit: Int
  private var bytes: [UInt8] = []
  /// Where the next line begins.
  private var start = 0
  /// Up to where there is no line end.
  private var searched = 0

  init(limit: Int) { self.limit = limit }

  /// False if a line got longer than `limit`.
  mutating func append(_ chunk: [UInt8]) -> Bool {
    if start > 0 {
      bytes.removeFirst(start)
      searched -= start
      start = 0
    }
    bytes += chunk
    return bytes[searched...].contains(UInt8(ascii: "\n")) || bytes.count <= limit
  }

  /// The next whole line without its LF, nil if it is not all there.
  mutating func next() -> [UInt8]? {
    guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = bytes.count
      return nil
    }
    defer { (start, searched) = (end + 1, end + 1) }
    return Array(bytes[start..<end])
  }

  /// What follows the last line end, nil if nothing does.
  mutating func takeRest() -> [UInt8]? {
    defer { (bytes, start, searched) = ([], 0, 0) }
    return start < bytes.count ? Array(bytes[start...]) : nil
  }
}
