internal import BatonBase

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Collects the metrics `process_*` and `baton_build_info`.
package enum ProcessCollector {
  /// The collector to add to a `MetricsRegistry`. On a system without /proc (macOS) it returns only `baton_build_info`.
  package static func collector(version: String) -> MetricsRegistry.Collector {
    { [buildInfo(version)] + process() }
  }

  private static func buildInfo(_ version: String) -> MetricFamily {
    MetricFamily(Names.Metric.buildInfo, [([MetricLabel(Names.Label.version, version)], 1)])
  }

  #if os(Linux)
    private static func process() -> [MetricFamily] {
      families(
        ProcessReadings(stat: text("/proc/self/stat"), ticks: system(_SC_CLK_TCK), pageBytes: system(_SC_PAGESIZE)),
        bootTime: ProcessReadings.bootTime(stat: text("/proc/stat")),
        openFiles: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { Double($0.count) },
        maximumFiles: ProcessReadings.maximumFiles(limits: text("/proc/self/limits")))
    }

    private static func system(_ name: some BinaryInteger) -> Double { Double(sysconf(Int32(name))) }

    /// The content of a file in /proc; empty if it cannot be read. The kernel reports no size for these files, and they
    /// have at most a few pages.
    private static func text(_ path: String) -> String {
      (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
  #else
    private static func process() -> [MetricFamily] { [] }
  #endif

  /// The families for the readings. A reading that is `nil` gets no family.
  static func families(
    _ readings: ProcessReadings?, bootTime: Double?, openFiles: Double?, maximumFiles: Double?
  ) -> [MetricFamily] {
    let start = readings.flatMap { readings in bootTime.map { $0 + readings.startedAfterBoot } }
    let values: [(String, Double?)] = [
      (Names.Metric.processCPU, readings?.processorSeconds), (Names.Metric.processOpenFiles, openFiles),
      (Names.Metric.processMaximumFiles, maximumFiles), (Names.Metric.processResidentMemory, readings?.residentBytes),
      (Names.Metric.processVirtualMemory, readings?.virtualBytes), (Names.Metric.processStart, start),
    ]
    return values.compactMap { name, value in value.map { MetricFamily(name, $0) } }
  }
}
