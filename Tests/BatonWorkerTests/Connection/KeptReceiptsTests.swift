import BatonBase
import BatonModel
import Foundation
import Testing

@testable import BatonWorker

/// The receipts that a worker keeps over a restart.
@Suite struct KeptReceiptsTests {
  private let first = Receipt(store: "a", tenure: .max, sequence: 7, seal: [0, 255, 16])
  private let second = Receipt(store: "a b", tenure: .min, sequence: 0)

  private func withFile(_ body: (ReceiptsFile) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "baton-receipts-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(ReceiptsFile(data: folder))
  }

  @Test func theyAreReadAsTheyWereWritten() throws {
    try withFile { file in
      #expect(try file.read() == [])
      try file.write([first, second])
      #expect(try file.read() == [first, second])
      try file.write([second])
      #expect(try file.read() == [second])
    }
  }

  @Test(arguments: ["7", "x 1 00 a", "1 x 00 a", "1 1 0 a", "1 1 zz a", "1 1 00", "\u{0}"])
  func aDamagedLineIsLeftOut(line: String) throws {
    try withFile { file in
      try file.write([first])
      let whole = try String(contentsOfFile: file.path, encoding: .utf8)
      try (line + "\n" + whole).write(toFile: file.path, atomically: false, encoding: .utf8)
      #expect(try file.read() == [first])
    }
  }

  @Test func theyAreWrittenAtOnceThenEveryFewSecondsAndAtTheEndOfAConnection() {
    let begin = Instant(nanoseconds: 0)
    var kept = KeptReceipts(file: ReceiptsFile(data: "/nowhere"), written: [])
    #expect(!kept.areDue([], isLast: true, at: begin))
    #expect(kept.areDue([first], isLast: false, at: begin))
    kept.isBeingWritten = true
    #expect(!kept.areDue([first], isLast: true, at: begin))
    (kept.isBeingWritten, kept.written, kept.writtenAt) = (false, [first], begin)
    #expect(!kept.areDue([first], isLast: true, at: begin + .seconds(9)))
    #expect(!kept.areDue([second], isLast: false, at: begin + .seconds(4)))
    #expect(kept.areDue([second], isLast: false, at: begin + .seconds(5)))
    #expect(kept.areDue([second], isLast: true, at: begin + .seconds(1)))
  }
}
