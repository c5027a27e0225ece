import BatonBase
import BatonModel
import BatonTelemetry
import Logging
import Synchronization
import Testing

@testable import BatonExporter

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite struct LineExporterTests {
  @Test func `each request is one line at the end of the file, also after it was moved away`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "baton-lines-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "traces.jsonl")
    let (logger, lines) = LogCollector.logger()
    let exporter = LineExporter("traces", to: .file(file.path), logger: logger)
    #expect(await exporter.send(ExporterFixture.request()) == .delivered)
    #expect(await exporter.send(ExporterFixture.rich) == .delivered)
    let text = ExporterFixture.request().json + "\n" + ExporterFixture.rich.json + "\n"
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
    try FileManager.default.moveItem(at: file, to: folder.appending(path: "old"))
    #expect(await exporter.send(ExporterFixture.request()) == .delivered)
    #expect(try String(contentsOf: file, encoding: .utf8) == ExporterFixture.request().json + "\n")
    try FileManager.default.removeItem(at: folder)
    #expect(await exporter.send(ExporterFixture.request()) == .unreachable)
    #expect(await exporter.send(ExporterFixture.request()) == .unreachable)
    #expect(lines.all == ["warning: Exporting traces to \(file.path) fails: No such file or directory"])
  }

  @Test func `lines that come together are written one after the other`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "baton-lines-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    let exporter = LineExporter("traces", to: .file(file.path), logger: Logger(label: "test"))
    await withTaskGroup(of: ExportVerdict.self) { group in
      for _ in 0..<100 { group.addTask { await exporter.send(ExporterFixture.request()) } }
      for await verdict in group { #expect(verdict == .delivered) }
    }
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text == String(repeating: ExporterFixture.request().json + "\n", count: 100))
  }

  @Test func `an incomplete line is removed, so that the next one is not appended to it`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "baton-lines-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    let calls = Mutex(0)
    let exporter = LineExporter("traces", to: .file(file.path), logger: Logger(label: "test")) { file, bytes in
      // The second line meets a full disk after its first ten bytes.
      let call = calls.withLock {
        $0 += 1
        return $0
      }
      guard call != 3 else {
        errno = ENOSPC
        return -1
      }
      return write(file, bytes.baseAddress, call == 2 ? 10 : bytes.count)
    }
    #expect(await exporter.send(ExporterFixture.request()) == .delivered)
    #expect(await exporter.send(ExporterFixture.request()) == .unreachable)
    #expect(await exporter.send(ExporterFixture.rich) == .delivered)
    let text = ExporterFixture.request().json + "\n" + ExporterFixture.rich.json + "\n"
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
  }

  /// Opening a pipe that has no reader blocks, as writing to a full pipe does.
  @Test func `a reader that does not read holds nobody up longer than the timeout, nor after a cancellation`()
    async throws
  {
    let pipe = FileManager.default.temporaryDirectory.appending(path: "baton-lines-\(UUID())").path
    try #require(mkfifo(pipe, 0o600) == 0)
    defer { unlink(pipe) }
    let (logger, lines) = LogCollector.logger()
    let impatient = Clocks(instant: { Instant(nanoseconds: 0) }, sleep: { #expect($0 == .seconds(3)) })
    let exporter = LineExporter("traces", to: .file(pipe), timeout: .seconds(3), clock: impatient, logger: logger)
    for _ in 1...3 { #expect(await exporter.send(ExporterFixture.request()) == .unreachable) }
    #expect(
      lines.all == [
        "warning: Exporting traces to \(pipe) fails: the line could not be written in time: the reader may have "
          + "stopped reading"
      ])

    let patient = LineExporter("traces", to: .file(pipe), timeout: .seconds(3600), logger: logger)
    let sending = Task { await patient.send(ExporterFixture.request()) }
    sending.cancel()
    #expect(await sending.value == .unreachable)

    // Each exporter had exactly one line under way.
    let reader = open(pipe, O_RDONLY)
    defer { close(reader) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count(where: { $0 == UInt8(ascii: "\n") }) < 2 {
      let count = read(reader, &buffer, buffer.count)
      if count > 0 { bytes += buffer[..<count] }
    }
    #expect(
      String(decoding: bytes, as: UTF8.self) == String(repeating: ExporterFixture.request().json + "\n", count: 2))
  }
}
