import BatonBase
import BatonWire
import Foundation
import Synchronization

/// Reads the lines that commands write into a named pipe: a record of what really ran, made outside of Baton.
final class EventPipe: Sendable {
  let path: String
  private let lines = Mailbox<String>(capacity: 1 << 20)
  private let waiting = Mutex<[String]>([])
  /// All lines so far, in order.
  private let history = Mutex<[String]>([])

  init(_ path: String) {
    self.path = path
    mkfifo(path, 0o600)
    // Opened for reading and writing, so that it neither blocks nor ends while no process writes.
    let stream = fdopen(open(path, O_RDWR | O_CLOEXEC), "r")
    nonisolated(unsafe) let file = stream
    let lines = lines
    Thread { while let line = readOne(file) { lines.send(line) } }.start()
  }

  var all: [String] { history.withLock { $0 } }

  /// The next line. If no line comes, the time limit of the suite fails the test.
  func next() async -> String {
    while true {
      if let line = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
        history.withLock { $0.append(line) }
        return line
      }
      guard let more = await lines.receive() else { return "" }
      waiting.withLock { $0 = more }
    }
  }

  /// Reads until `condition` holds for a line.
  @discardableResult
  func first(where condition: (String) -> Bool) async -> String {
    while true {
      let line = await next()
      if line.isEmpty || condition(line) { return line }
    }
  }

  /// All lines so far. It writes a marker into the pipe and reads up to the marker, so that no line is missed.
  func drained() async -> [String] {
    let marker = "end-of-test"
    let file = open(path, O_WRONLY | O_NONBLOCK)
    _ = write(file, marker + "\n", marker.utf8.count + 1)
    close(file)
    await first { $0 == marker }
    return all.filter { $0 != marker }
  }
}

private func readOne(_ stream: UnsafeMutablePointer<FILE>?) -> String? {
  var line: UnsafeMutablePointer<CChar>?
  var capacity = 0
  defer { free(line) }
  guard let stream, getline(&line, &capacity, stream) > 0, let line else { return nil }
  return String(cString: line).trimmingCharacters(in: .newlines)
}
