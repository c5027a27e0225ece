import BatonTelemetry
import Logging
import Testing

@testable import BatonExporter

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
}
