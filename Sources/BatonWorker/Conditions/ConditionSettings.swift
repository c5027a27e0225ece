package import BatonModel

/// How a worker reads its host, and what it makes of it: the keys of `Config/worker.yaml` about conditions. Every number
/// is Baton's own choice unless it says otherwise.
package struct ConditionSettings: Sendable {
  /// What is probed; the rest is unknown. Key `probes`.
  package var probes = Set(Probe.allCases)
  /// Where the system's files are found. Key `systemRoot`.
  package var root = SystemRoot()
  /// So close to full, in per cent, a battery that drains beside a charger is how the machine works. Key
  /// `power.fullMargin`.
  package var fullMargin = 5
  package var treatUnknownAs = UnknownTreatment()
  package var returnAfter = ReturnDelays()
  package var ups = UPSSettings()
  package var thermal = ThermalSettings()
  package var network = NetworkSettings()
  /// A loss of the network that is over sooner counts as none (contract, row 19). Key `network.lostAfter`.
  package var networkLostAfter = Duration.seconds(10)
  package var idle = IdleSettings()
  package var gpu = GPUSettings()
  /// Key `labels`.
  package var labels: [String: String] = [:]
  /// A command of the operator's own that prints facts. Key `facts.command`.
  package var facts: FactsSettings?

  package init() {}

  /// The person at the host asked for the work: it waits for nobody to leave.
  package mutating func assumesIdle() {
    probes.remove(.idle)
    treatUnknownAs.idle = .idle
  }

  package enum Probe: String, CaseIterable, Sendable { case power, ups, lowPowerMode, thermal, network, idle, gpu }
}

/// What counts where nobody knows (contract, row 21). Keys `treatUnknownAs.power`, `.thermal`, `.network`, `.idle`;
/// unknown GPUs are none, and an unknown low power mode is off.
package struct UnknownTreatment: Hashable, Sendable {
  package enum Idle: String, CaseIterable, Sendable {
    /// Idle where there is no seat and no terminal session, and load and pressure are below their thresholds; else busy.
    case automatic
    case idle, busy
  }

  package var power = PowerSource.external
  package var thermal = ThermalState.nominal
  package var network = NetworkState.unmetered
  package var idle = Idle.automatic

  package init() {}
}

/// How long a permission must have been back before it counts, so that a flapping supply starts nothing. Keys
/// `returnAfter.power` and so on. Idleness has thresholds of its own instead.
package struct ReturnDelays: Hashable, Sendable {
  package var power = Duration.seconds(10)
  /// Of a charge that was below the threshold.
  package var battery = Duration.seconds(60)
  package var lowPowerMode = Duration.seconds(10)
  package var thermal = Duration.seconds(30)
  package var network = Duration.seconds(2)
  package var gpu = Duration.seconds(10)

  package init() {}
}
