// The metrics that Baton has. A name that is not here is a library's.

extension MetricDescription {
  /// Nil for a metric that is not Baton's.
  package static func of(_ name: String) -> MetricDescription? { byName[name] }

  private static let byName = Dictionary(
    baton.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  /// In the order of the documentation.
  package static let baton = ofCoordinator + ofWorker + ofEveryProcess

  private static let ofCoordinator = [
    MetricDescription(
      Names.Metric.requests, "Requests that the store has, by definition and state.", .gauge),
    MetricDescription(
      Names.Metric.readyOldest, "How long the request that has been ready longest has waited for a host, 0 if none is.",
      .gauge),
    MetricDescription(
      Names.Metric.obstacles,
      "Ready requests that this reason keeps from starting now; one request can have several reasons.", .gauge),
    MetricDescription(
      Names.Metric.hosts, "Hosts by condition, as `baton hosts` shows them.", .gauge),
    MetricDescription(
      Names.Metric.launches, "Launches that ended, by definition, outcome, and the reason of those that expired.",
      .counter),
    MetricDescription(
      Names.Metric.launchDuration, "How long launches took, from assignment to outcome.",
      .histogram(bounds: MetricBounds.launchSeconds)),
    MetricDescription(
      Names.Metric.resumeDuration, "How long it took from the expiry of a launch until its request ran elsewhere.",
      .histogram(bounds: MetricBounds.resumeSeconds)),
    MetricDescription(Names.Metric.batches, "Batches whose checkpoint was committed.", .counter),
    MetricDescription(
      Names.Metric.batchesRepeated, "Batches that were done again because their commit was lost with a launch.",
      .counter),
    MetricDescription(
      Names.Metric.checkpointBytes, "Size of the checkpoints that were committed.",
      .histogram(bounds: MetricBounds.checkpointBytes)),
    MetricDescription(
      Names.Metric.commitDuration, "How long one group commit of the store took, until it was on disk.",
      .histogram(bounds: MetricBounds.commitSeconds)),
    MetricDescription(
      Names.Metric.commitOperations, "How many writes shared one group commit.",
      .histogram(bounds: MetricBounds.commitOperations)),
  ]

  private static let ofWorker = [
    MetricDescription(
      Names.Metric.workerConnected, "Whether this worker is connected to its coordinator: 1, or 0.", .gauge),
    MetricDescription(Names.Metric.workerLaunches, "Launches that run on this worker now.", .gauge),
  ]

  private static let ofEveryProcess = [
    MetricDescription(
      Names.Metric.spansDropped, "Spans that were not sent to the tracing backend and never will be.", .counter),
    MetricDescription(
      Names.Metric.seriesRefused, "Series that a metric did not get because it has as many as it may.", .counter),
    MetricDescription(Names.Metric.buildInfo, "Always 1; the version is its label.", .gauge),
    MetricDescription(Names.Metric.processCPU, "Processor time of this process, user and system.", .counter),
    MetricDescription(Names.Metric.processOpenFiles, "Open file descriptors of this process.", .gauge),
    MetricDescription(Names.Metric.processMaximumFiles, "How many file descriptors this process may have.", .gauge),
    MetricDescription(Names.Metric.processResidentMemory, "Memory that this process has in use.", .gauge),
    MetricDescription(Names.Metric.processVirtualMemory, "Address space of this process.", .gauge),
    MetricDescription(Names.Metric.processStart, "When this process started, since 1970 UTC.", .gauge),
  ]
}

/// The bounds of Baton's histograms. They are Baton's own choice, and a changed one spoils what was recorded before.
package enum MetricBounds {
  /// Launches last from an instant to the day that a definition may allow.
  package static let launchSeconds: [Double] = [
    0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400,
  ]
  /// At best the next host takes over within a second; at worst one has to be found, or waited for.
  package static let resumeSeconds: [Double] = [0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 900, 3_600, 14_400]
  /// A sync takes a fraction of a millisecond on good disks and more than a second on those in trouble.
  package static let commitSeconds: [Double] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]
  /// A group has from 1 write up to the 4096 that may wait.
  package static let commitOperations: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096]
  /// From an empty checkpoint to the largest that may be allowed, 1 MiB.
  package static let checkpointBytes: [Double] = [64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576]
  /// For what libraries time, in seconds; the default of Prometheus's own clients.
  package static let usual: [Double] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
}
