import BatonTelemetry
import ContractRows
import Logging
import Synchronization
import Testing

/// Text of another process stays on one line of the log, and contains nothing that a terminal obeys.
@Suite struct PlainLogTests {
  private final class Lines: Sendable {
    let all = Mutex<[String]>([])
  }

  private struct Recorder: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { _, last in last }
      let words = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      lines.all.withLock { $0.append((words + ["\(event.message)"]).joined(separator: " ")) }
    }
  }

  private struct Named: CustomStringConvertible, Sendable { let description: String }

  private func logged(_ body: (inout Logger) -> Void) -> [String] {
    let lines = Lines()
    var logger = Logger(label: "test") { _ in PlainLogHandler(Recorder(lines: lines)) }
    body(&logger)
    return lines.all.withLock { $0 }
  }

  @Test(.refuses(21)) func `a line break in metadata makes no line of its own`() {
    let forged = "ada\n2026-01-01T00:00:00Z error baton: the disk failed"
    let lines = logged { $0.notice("a poke of priority 10", metadata: ["principal": "\(forged)"]) }
    #expect(lines == [#"principal="ada\n2026-01-01T00:00:00Z error baton: the disk failed" a poke of priority 10"#])
  }

  @Test func `a value cannot pass for other fields or for a message`() {
    let forged = #"eve principal=alice [BatonCoordinator] "a poke""#
    let lines = logged { $0.notice("a poke", metadata: ["principal": "\(forged)"]) }
    #expect(lines == [#"principal="eve principal=alice [BatonCoordinator] \"a poke\"" a poke"#])
  }

  @Test func `a backslash at the end of a value does not keep its quotes open`() {
    let lines = logged { $0.notice("a poke", metadata: ["job": #"C:\a b\"#, "principal": "eve"]) }
    #expect(lines == [#"job="C:\\a b\\" principal=eve a poke"#])
  }

  @Test(.refuses(35)) func `escape sequences are shown, wherever they stand`() {
    let evil = "\u{1B}]0;title\u{7}\u{9B}2J\u{202E}\u{2028}"
    let plain = #"\u{1B}]0;title\u{7}\u{9B}2J\u{202E}\u{2028}"#
    let lines = logged { logger in
      logger[metadataKey: "host"] = "\(evil)"
      logger.warning(
        "why: \(evil)",
        metadata: [
          "array": ["\(evil)"], "named": .stringConvertible(Named(description: evil)), "nested": ["inner": "\(evil)"],
        ])
    }
    #expect(lines.count == 1)
    #expect(
      lines.allSatisfy { line in !line.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) } }
    )
    #expect(lines.first?.hasSuffix("why: " + plain) == true)
    #expect(lines.first?.contains("host=\"" + plain + "\"") == true)
    #expect(lines.first?.contains("named=\"" + plain + "\"") == true)
  }

  @Test func `what has nothing of that is written as it is`() {
    #expect(logged { $0.info("Zoë 👩‍👩‍👧 日本語", metadata: ["a": "b c"]) } == ["a=\"b c\" Zoë 👩‍👩‍👧 日本語"])
  }
}
