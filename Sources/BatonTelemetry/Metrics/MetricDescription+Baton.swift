// The metrics of Baton itself. Metrics with other names come from libraries.

extension MetricDescription {
  /// The description of one of Baton's metrics; `nil` for any other name.
  package static func of(_ name: String) -> MetricDescription? { byName[name] }

  private static let byName = Dictionary(
    baton.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  /// All metrics of Baton, in the order of the documentation.
  package static let baton = ofCoordinator + ofWorker + ofEveryProcess

  private static let ofCoordinator = [
    MetricDescription(
      Names.Metric.requests, "Requests that the store has, by definition and state.", .gauge),
    MetricDescription(
      Names.Metric.readyOldest, "Waiting time of the request that has been ready longest; 0 if no request is ready.",
      .gauge),
    MetricDescription(
      Names.Metric.obstacles,
      "Ready requests that this reason keeps from starting now; one request can have several reasons.", .gauge),
    MetricDescription(
      Names.Metric.hosts, "Hosts by condition, as `baton hosts` shows them.", .gauge),
    MetricDescription(Names.Metric.fleetPaused, "1 if an operator has paused the fleet, else 0.", .gauge),
    MetricDescription(Names.Metric.hostSlots, "Slots of the host; only of hosts that hold a lease.", .gauge),
    MetricDescription(Names.Metric.hostSlotsUsed, "Slots of the host that launches hold.", .gauge),
    MetricDescription(
      Names.Metric.requestsFailed,
      "Requests that failed for good, by definition; reason is failed or quarantined.", .counter),
    MetricDescription(
      Names.Metric.lastSuccess, "Time since a request of the definition succeeded last; none if none has.", .gauge),
    MetricDescription(
      Names.Metric.submissionsRefused, "Submissions that were refused, by Apple's code of the refusal.", .counter),
    MetricDescription(
      Names.Metric.storeFree, "Free space on the file system of the store; none for a store elsewhere.", .gauge),
    MetricDescription(
      Names.Metric.launches, "Launches that ended, by definition, outcome, and the reason of those that expired.",
      .counter),
    MetricDescription(
      Names.Metric.launchDuration, "How long launches took, from assignment to outcome.",
      .histogram(bounds: MetricBounds.launchSeconds)),
    MetricDescription(
      Names.Metric.resumeDuration,
      "How long a request waited for its next launch after a launch expired or was lost.",
      .histogram(bounds: MetricBounds.resumeSeconds)),
    MetricDescription(
      Names.Metric.transfers,
      "Transfers that have not ended, of hosts that are connected to this coordinator, by state.",
      .gauge),
    MetricDescription(
      Names.Metric.transfersEnded, "Transfers that ended, by outcome, and by the code of those that failed.", .counter),
    MetricDescription(
      Names.Metric.transferReceived, "Bytes that hosts had received with transfers when these ended.", .counter),
    MetricDescription(
      Names.Metric.transferSent, "Bytes that hosts had sent with transfers when these ended.", .counter),
    MetricDescription(
      Names.Metric.notifications, "Notifications in the store that wait for their receivers, or have failed for good.",
      .gauge),
    MetricDescription(
      Names.Metric.notificationsEnded, "Notifications that receivers took, and those that failed for good.", .counter),
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
      Names.Metric.workerConnected, "1 if this worker is connected to its coordinator, else 0.", .gauge),
    MetricDescription(Names.Metric.workerLaunches, "Launches that run on this worker now.", .gauge),
  ]

  private static let ofEveryProcess = [
    MetricDescription(
      Names.Metric.spansDropped, "Spans that were not sent to the tracing backend and never will be.", .counter),
    MetricDescription(
      Names.Metric.seriesRefused, "Series that were refused because their metric had reached its limit.", .counter),
    MetricDescription(Names.Metric.buildInfo, "Always 1; the version is its label.", .gauge),
    MetricDescription(Names.Metric.processCPU, "Processor time of this process, user and system.", .counter),
    MetricDescription(Names.Metric.processOpenFiles, "Open file descriptors of this process.", .gauge),
    MetricDescription(
      Names.Metric.processMaximumFiles, "Largest number of open file descriptors that this process may have.", .gauge),
    MetricDescription(Names.Metric.processResidentMemory, "Memory that this process has in use.", .gauge),
    MetricDescription(Names.Metric.processVirtualMemory, "Address space of this process.", .gauge),
    MetricDescription(Names.Metric.processStart, "When this process started, since 1970 UTC.", .gauge),
  ]
}

/// The bucket bounds of Baton's histograms. They are Baton's own choice. Do not change them: values that were recorded
/// with other bounds cannot be compared.
package enum MetricBounds {
  /// Launches last from a fraction of a second to a day, the longest budget that a definition may set.
  package static let launchSeconds: [Double] = [
    0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400,
  ]
  /// At best another host takes over within a second; at worst the request waits a long time for a suitable host.
  package static let resumeSeconds: [Double] = [0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 900, 3_600, 14_400]
  /// A disk sync takes a fraction of a millisecond on a good disk and more than a second on a failing or overloaded
  /// disk.
  package static let commitSeconds: [Double] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]
  /// A group commit has at least 1 write and at most the 4096 writes that may wait.
  package static let commitOperations: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096]
  /// Checkpoints are from 0 bytes to 1 MiB, the largest size that may be configured.
  package static let checkpointBytes: [Double] = [64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576]
  /// For durations that libraries measure, in seconds. These are the default bounds of Prometheus's own clients.
  package static let usual: [Double] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
}
