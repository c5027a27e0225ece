import Synchronization

/// Passes on the output of one process without the values of secrets.
final class RedactedOutput: Sendable {
  private let stream: Mutex<RedactedStream>
  private let pass: @Sendable ([UInt8]) -> Void

  init(_ redaction: Redaction, pass: @escaping @Sendable ([UInt8]) -> Void) {
    stream = Mutex(RedactedStream(redaction))
    self.pass = pass
  }

  func append(_ bytes: [UInt8]) { give(stream.withLock { $0.append(bytes) }) }

  /// Passes on what was held back. Call it when the output has ended.
  func finish() { give(stream.withLock { $0.finish() }) }

  private func give(_ bytes: [UInt8]) { if !bytes.isEmpty { pass(bytes) } }
}

/// Keeps the end of a command's output, for the message of its failure.
final class OutputTail: Sendable {
  private let kept = Mutex<[UInt8]>([])
  static let maximumBytes = 2048
  static let maximumLines = 20

  func append(_ bytes: [UInt8]) {
    kept.withLock { kept in
      kept += bytes.suffix(Self.maximumBytes)
      if kept.count > 2 * Self.maximumBytes { kept.removeFirst(kept.count - Self.maximumBytes) }
    }
  }

  /// The last lines of the output: at most 20 lines and at most 2 KiB. The first line may be cut. Empty if the command
  /// wrote nothing.
  var lines: [String] {
    let bytes = kept.withLock { $0 }
    let tail = bytes.suffix(Self.maximumBytes)
    let lines = tail.split(separator: UInt8(ascii: "\n")).suffix(Self.maximumLines)
    return lines.map { String(decoding: $0, as: UTF8.self) }
  }
}
