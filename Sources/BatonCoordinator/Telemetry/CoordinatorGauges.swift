package import BatonModel
package import BatonStore
import BatonTelemetry

/// The state of a coordinator at one moment, as its gauges show it. The coordinator creates one at each scrape.
package struct CoordinatorGauges: Hashable, Sendable {
  /// The number of requests by definition and state, as the store counts them.
  package var requests: [DefinitionCount]
  /// How long the oldest ready request has waited; nil if no request is ready.
  package var readyOldest: Duration?
  /// The number of ready requests by the code of each obstacle that keeps them from starting.
  package var obstacles: [String: Int]
  /// The number of hosts by condition, with the words of `baton hosts`: `ready` holds a lease and takes launches;
  /// `away` holds a lease, but its connection is away at the moment; `draining` is being drained; `paused` was paused
  /// by its owner; `outsideHours` is lent by its owner only at other hours; `gone` has no lease. Whether a ready host
  /// has room, power or a network is not included here; the obstacles say that.
  package var hosts: [HostReport.State: Int]
  /// Whether an operator has paused the fleet.
  package var isPaused = false
  /// The slots of each host that holds a lease.
  package var slots: [HostName: Slots] = [:]
  /// The number of transfers that have not ended by state, of the hosts that are connected to this coordinator.
  package var transfers: [TransferStage: Int] = [:]
  /// How many notifications wait for their receivers, and how many that have failed are kept.
  package var waitingNotifications = 0
  package var failedNotifications = 0
  /// How long ago a request of each definition succeeded last, as far as that is known.
  package var sinceSuccess: [IdentifierPattern: Duration] = [:]

  package enum TransferStage: String, CaseIterable, Sendable { case waiting, running }

  package struct Slots: Hashable, Sendable {
    package var used: Int
    package var total: Int
  }

  package init(
    requests: [DefinitionCount] = [], readyOldest: Duration? = nil, obstacles: [String: Int] = [:],
    hosts: [HostReport.State: Int] = [:]
  ) {
    (self.requests, self.readyOldest, self.obstacles, self.hosts) = (requests, readyOldest, obstacles, hosts)
  }

  /// The gauges of one dispatcher, which is a copy, so that no other work waits while they are computed.
  /// - Parameter requests: the store's counts of about the same time.
  package init(_ dispatcher: Dispatcher, requests: [DefinitionCount], readyOldest: Duration?) {
    let hosts = dispatcher.hosts.values.map { ($0.reportState, 1) }
    self.init(
      requests: requests, readyOldest: readyOldest, obstacles: dispatcher.obstacles(ofReady: requests),
      hosts: Dictionary(hosts, uniquingKeysWith: +))
    isPaused = dispatcher.isPaused
    slots = dispatcher.hosts.values.filter(\.host.hasLease).reduce(into: [:]) { slots, state in
      slots[state.host.name] = Slots(used: state.host.usedSlots, total: state.host.capabilities.slots)
    }
  }

  /// - Parameters:
  ///   - label: returns the label of a definition.
  ///   - hostLabel: returns the label of a host.
  func families(
    _ label: (IdentifierPattern) -> String, hostLabel: (HostName) -> String
  ) -> [MetricFamily] {
    let slots = slots.map { (labels: [MetricLabel(Names.Label.host, hostLabel($0.key))], slots: $0.value) }
    return [
      MetricFamily(Names.Metric.fleetPaused, isPaused ? 1 : 0),
      MetricFamily(Names.Metric.hostSlots, Self.sums(slots.map { ($0.labels, Double($0.slots.total)) })),
      MetricFamily(Names.Metric.hostSlotsUsed, Self.sums(slots.map { ($0.labels, Double($0.slots.used)) })),
      MetricFamily(
        Names.Metric.lastSuccess,
        Self.smallest(
          sinceSuccess.map { ([MetricLabel(Names.Label.definition, label($0.key))], max(0, $0.value.inSeconds)) })),
      MetricFamily(
        Names.Metric.transfers,
        TransferStage.allCases.map { ([MetricLabel(Names.Label.state, $0.rawValue)], Double(transfers[$0] ?? 0)) }),
      MetricFamily(
        Names.Metric.notifications,
        [
          ([MetricLabel(Names.Label.state, Names.Label.waiting)], Double(waitingNotifications)),
          ([MetricLabel(Names.Label.state, Names.Label.failed)], Double(failedNotifications)),
        ]),
      MetricFamily(Names.Metric.requests, requestReadings(label)),
      MetricFamily(Names.Metric.readyOldest, readyOldest?.inSeconds ?? 0),
      MetricFamily(
        Names.Metric.obstacles, obstacles.map { ([MetricLabel(Names.Label.reason, $0.key)], Double($0.value)) }),
      // All states are reported, because an alerting rule that compares with 0 needs the value 0.
      MetricFamily(
        Names.Metric.hosts,
        HostReport.State.allCases.map {
          ([MetricLabel(Names.Label.condition, $0.rawValue)], Double(hosts[$0] ?? 0))
        }),
    ]
  }

  private typealias Reading = (labels: [MetricLabel], value: Double)

  /// One reading for each set of labels, with the sum of its values: all beyond a limit have the same labels.
  private static func sums(_ readings: [Reading]) -> [Reading] {
    Dictionary(readings.map { ($0.labels, $0.value) }, uniquingKeysWith: +).map { ($0.key, $0.value) }
  }

  /// One reading for each set of labels, with the smallest of its values.
  private static func smallest(_ readings: [Reading]) -> [Reading] {
    Dictionary(readings.map { ($0.labels, $0.value) }, uniquingKeysWith: min).map { ($0.key, $0.value) }
  }

  /// Reports every state of each definition that has any request, so that a state without requests shows 0.
  private func requestReadings(_ label: (IdentifierPattern) -> String) -> [(labels: [MetricLabel], value: Double)] {
    var counts: [String: [RequestState: Int]] = [:]
    for count in requests { counts[label(count.pattern), default: [:]][count.state, default: 0] += count.count }
    return counts.flatMap { definition, byState in
      RequestState.allCases.map { state in
        let labels = [MetricLabel(Names.Label.definition, definition), MetricLabel(Names.Label.state, state.rawValue)]
        return (labels, Double(byState[state] ?? 0))
      }
    }
  }
}

extension Dispatcher {
  /// How many ready requests each obstacle keeps from starting now, by the code of the obstacle. The newest definition
  /// of a pattern with ready requests stands for all its definitions, and evictions of single instances of a wildcard
  /// are not considered. A request that some host could take has no obstacle; otherwise the hosts that are nearest to
  /// taking it count, as in a wait.
  func obstacles(ofReady requests: [DefinitionCount]) -> [String: Int] {
    let ready = requests.filter { $0.state == .ready && $0.count > 0 }
    let newest = Dictionary(
      self.ready.keys.compactMap { key in definitions[key.definition].map { ($0.pattern, key.definition) } },
      uniquingKeysWith: max)
    var counts: [String: Int] = [:]
    for count in ready {
      guard let definition = newest[count.pattern].flatMap({ definitions[$0] }) else { continue }
      for reason in waitReasons(for: definition, definition.priority) { counts[reason.code, default: 0] += count.count }
    }
    return counts
  }
}
