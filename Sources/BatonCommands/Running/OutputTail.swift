import BatonModel
import Synchronization

/// Keeps the last 4096 bytes of the output of a launch, of which it shows at most 20 lines.
final class OutputTail: Sendable {
  static let lineLimit = 20
  private static let byteLimit = 4096

  private let bytes = Mutex<[UInt8]>([])

  func append(_ more: [UInt8]) {
    bytes.withLock { $0 = Array(($0 + more).suffix(Self.byteLimit)) }
  }

  var lines: [String] {
    let text = bytes.withLock { String(decoding: $0, as: UTF8.self) }
    return text.split(whereSeparator: \.isNewline).suffix(Self.lineLimit).map { String($0).onOneLine }
  }
}
