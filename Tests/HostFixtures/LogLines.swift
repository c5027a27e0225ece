package import Logging
import Synchronization

/// What a logger was given: the level, the text, and the metadata as `key=value`.
package final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])

  package init() {}

  package var all: [String] { lines.withLock { $0 } }

  package var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

  private struct Handler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let words = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      lines.lines.withLock { $0.append((["\(event.level): \(event.message)"] + words).joined(separator: " ")) }
    }
  }
}
