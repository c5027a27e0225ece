/// One fact about a host: its value if it is known, who says so, and the raw reading.
package struct Reading<Value: Hashable & Sendable & Codable>: Hashable, Sendable, Codable {
  /// Nil means unknown.
  package var value: Value?
  /// Where it comes from, such as `sysfs`, `logind`, `assumed` or `simulated`.
  package var source: String
  /// What was read, for people; may be empty.
  package var raw: String

  package init(_ value: Value?, source: String, raw: String = "") {
    self.value = value
    self.source = source
    self.raw = raw
  }
}

package enum PowerSource: String, Hashable, Sendable, Codable, CaseIterable { case external, battery }

/// Apple's four states, `ProcessInfo.ThermalState`.
package enum ThermalState: Int, Hashable, Sendable, Codable, CaseIterable, Comparable {
  case nominal, fair, serious, critical

  package var name: String {
    switch self {
    case .nominal: "nominal"
    case .fair: "fair"
    case .serious: "serious"
    case .critical: "critical"
    }
  }

  package init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

package enum NetworkState: String, Hashable, Sendable, Codable, CaseIterable { case unavailable, metered, unmetered }

package struct GPU: Hashable, Sendable, Codable {
  package var name: String
  package var memoryBytes: Int64

  package init(name: String, memoryBytes: Int64) {
    self.name = name
    self.memoryBytes = memoryBytes
  }
}

/// What a worker reports of its host.
package struct Conditions: Hashable, Sendable, Codable {
  package var power: Reading<PowerSource>
  /// Charge of the battery in per cent, 0 to 100; unknown also where there is none.
  package var battery: Reading<Int>
  package var lowPowerMode: Reading<Bool>
  package var thermal: Reading<ThermalState>
  package var network: Reading<NetworkState>
  package var isIdle: Reading<Bool>
  package var gpus: Reading<[GPU]>
  /// The owner paused the host: nothing runs here until they resume it.
  package var isPausedByOwner: Bool

  package init(
    power: Reading<PowerSource>, battery: Reading<Int>, lowPowerMode: Reading<Bool>, thermal: Reading<ThermalState>,
    network: Reading<NetworkState>, isIdle: Reading<Bool>, gpus: Reading<[GPU]>, isPausedByOwner: Bool = false
  ) {
    self.power = power
    self.battery = battery
    self.lowPowerMode = lowPowerMode
    self.thermal = thermal
    self.network = network
    self.isIdle = isIdle
    self.gpus = gpus
    self.isPausedByOwner = isPausedByOwner
  }

  /// What a worker reports while it has no probe: a host on external power and a network, without a GPU, whose
  /// idleness nobody knows; each value says that it was assumed.
  package static let assumed = Conditions(
    power: Reading(.external, source: "assumed"), battery: Reading(nil, source: "assumed"),
    lowPowerMode: Reading(false, source: "assumed"), thermal: Reading(.nominal, source: "assumed"),
    network: Reading(.unmetered, source: "assumed"), isIdle: Reading(nil, source: "assumed"),
    gpus: Reading([], source: "assumed"))
}
