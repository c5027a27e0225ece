import BatonModel
package import BatonStore
import BatonTelemetry

/// The state of a coordinator at one time, as its gauges show it. The coordinator fills one in at each scrape.
package struct CoordinatorGauges: Hashable, Sendable {
  /// Requests by definition and state, as the store counts them.
  package var requests: [DefinitionCount]
  /// For how long the request that has been ready longest has waited; nil if none is ready.
  package var readyOldest: Duration?
  /// Ready requests by the code of each obstacle that keeps them from starting.
  package var obstacles: [String: Int]
  /// Hosts by condition: the words of `baton hosts`. `ready` holds a lease and takes launches; `away` holds one and its
  /// connection is away for the moment; `draining` goes; `paused` by its owner; `outsideHours` of its owner; `gone` has
  /// no lease. Whether a ready host has room, power or a network is not in it: that is what the obstacles say.
  package var hosts: [HostReport.State: Int]

  package init(
    requests: [DefinitionCount] = [], readyOldest: Duration? = nil, obstacles: [String: Int] = [:],
    hosts: [HostReport.State: Int] = [:]
  ) {
    (self.requests, self.readyOldest, self.obstacles, self.hosts) = (requests, readyOldest, obstacles, hosts)
  }

  /// The gauges of one dispatcher, which was copied so that nobody waits for the answer.
  /// - Parameter requests: as the store counted them at about the same time.
  package init(_ dispatcher: Dispatcher, requests: [DefinitionCount], readyOldest: Duration?) {
    let hosts = dispatcher.hosts.values.map { ($0.reportState, 1) }
    self.init(
      requests: requests, readyOldest: readyOldest, obstacles: dispatcher.obstacles(ofReady: requests),
      hosts: Dictionary(hosts, uniquingKeysWith: +))
  }

  /// - Parameter label: what a definition is called.
  func families(_ label: (IdentifierPattern) -> String) -> [MetricFamily] {
    [
      MetricFamily(Names.Metric.requests, requestReadings(label)),
      MetricFamily(Names.Metric.readyOldest, readyOldest?.inSeconds ?? 0),
      MetricFamily(
        Names.Metric.obstacles, obstacles.map { ([MetricLabel(Names.Label.reason, $0.key)], Double($0.value)) }),
      // All of them: a rule that compares with 0 needs the 0.
      MetricFamily(
        Names.Metric.hosts,
        HostReport.State.allCases.map {
          ([MetricLabel(Names.Label.condition, $0.rawValue)], Double(hosts[$0] ?? 0))
        }),
    ]
  }

  /// Every state of each definition that has any request, so that a state that emptied shows 0.
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
  /// How many ready requests each obstacle keeps from starting now, by its code. The newest definition of a pattern that
  /// has anything ready speaks for all of them, and instances of a wildcard that were evicted singly are not seen. What
  /// some host takes is kept by nothing; otherwise the hosts that are nearest to taking it count, as in a wait.
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
