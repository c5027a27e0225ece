import Testing

@testable import BatonTelemetry

/// Reads the texts of /proc; see https://man7.org/linux/man-pages/man5/proc.5.html.
@Suite struct ProcessReadingsTests {
  private static let rest =
    "S 1 2 2 0 -1 4194560 9 0 0 0 1500 250 0 0 20 0 7 0 40000 1048576 256 18446744073709551615 1"

  @Test(
    "The name of the program does not matter, whatever it is",
    arguments: ["baton", "a) b", "(x)", "", "a b c d e f g h i j k l m n o p q r s t u v w x y z"])
  func stat(name: String) {
    let readings = ProcessReadings(stat: "42 (\(name)) \(Self.rest)\n", ticks: 100, pageBytes: 4096)
    #expect(readings?.processorSeconds == 17.5)
    #expect(readings?.startedAfterBoot == 400)
    #expect(readings?.virtualBytes == 1_048_576)
    #expect(readings?.residentBytes == 1_048_576)
  }

  @Test(
    "A text that the kernel does not write is ignored",
    arguments: ["", "42", "42 (x)", "42 (x) S 1 2", "42 (x) \(rest.prefix(60))"])
  func broken(text: String) { #expect(ProcessReadings(stat: text, ticks: 100, pageBytes: 4096) == nil) }

  @Test("When the system started, and how many files there may be")
  func others() {
    #expect(ProcessReadings.bootTime(stat: "cpu 1 2\nbtime 1764000000\nprocesses 9\n") == 1_764_000_000)
    #expect(ProcessReadings.bootTime(stat: "cpu 1 2\n") == nil)
    let limits = "Limit       Soft Limit  Hard Limit  Units\nMax open files            1024         524288   files\n"
    #expect(ProcessReadings.maximumFiles(limits: limits) == 1024)
    #expect(ProcessReadings.maximumFiles(limits: "Max open files   unlimited  unlimited  files") == .infinity)
    #expect(ProcessReadings.maximumFiles(limits: "") == nil)
  }

  @Test("What could not be read is not there")
  func absent() {
    let names = ProcessCollector.families(nil, bootTime: 5, openFiles: 3, maximumFiles: nil).map(\.name)
    #expect(names == [Names.Metric.processOpenFiles])
  }

  @Test("Everywhere the version is told; on Linux this process has files open, memory, and began in the past")
  func real() async {
    let registry = MetricsFixture.registry()
    registry.collect(with: ProcessCollector.collector(version: "1.2"))
    let families = await registry.snapshot().families
    let values = Dictionary(uniqueKeysWithValues: families.map { ($0.name, $0.samples) })
    #expect(values[Names.Metric.buildInfo] == [.init([MetricLabel("version", "1.2")], .number(1))])
    #if os(Linux)
      for name in MetricDescription.baton.map(\.name) where name.hasPrefix("process_") {
        guard case .number(let value)? = values[name]?.first?.value else {
          Issue.record("no \(name)")
          continue
        }
        #expect(value > 0)
      }
    #endif
  }
}
