package import BatonModel
package import BatonProcess

/// How a worker reads its host's conditions and how it judges them: the keys of `Config/worker.yaml` about conditions.
/// Each default is Baton's own choice unless its comment names a source.
package struct ConditionSettings: Sendable {
  /// What is probed. Every other condition is unknown. Key `probes`.
  package var probes = Set(Probe.allCases)
  /// The folder below which the system's files are found. Key `systemRoot`.
  package var root = SystemRoot()
  /// In per cent. A battery whose charge is at most this far below full may drain beside an online charger and still
  /// count as external power: some hosts work that way. Key `power.fullMargin`.
  package var fullMargin = 5
  package var treatUnknownAs = UnknownTreatment()
  package var returnAfter = ReturnDelays()
  package var ups = UPSSettings()
  package var thermal = ThermalSettings()
  package var network = NetworkSettings()
  /// A loss of the network that is over within this time is ignored (contract, row 19). Key `network.lostAfter`.
  package var networkLostAfter = Duration.seconds(10)
  package var idle = IdleSettings()
  package var gpu = GPUSettings()
  /// The host's labels, which jobs can require.
  /// Key `labels`.
  package var labels: [String: String] = [:]
  /// A command of the operator that prints facts. Key `facts.command`.
  package var facts: FactsSettings?

  package init() {}

  /// Counts the host as idle without probing. `baton run` uses this for work that the person at the host asked for,
  /// because this work must not wait until that person leaves.
  package mutating func assumesIdle() {
    probes.remove(.idle)
    treatUnknownAs.idle = .idle
  }

  package enum Probe: String, CaseIterable, Sendable { case power, ups, lowPowerMode, thermal, network, idle, gpu }
}

/// The values that are assumed for unknown conditions (contract, row 21). Keys `treatUnknownAs.power`, `.thermal`,
/// `.network` and `.idle`. Two assumptions cannot be changed: unknown GPUs count as no GPU, and an unknown low power
/// mode counts as off.
package struct UnknownTreatment: Hashable, Sendable {
  package enum Idle: String, CaseIterable, Sendable {
    /// Idle if there is no seat and no terminal session, and load and pressure are below their thresholds. Otherwise
    /// busy.
    case automatic
    case idle, busy
  }

  package var power = PowerSource.external
  package var thermal = ThermalState.nominal
  package var network = NetworkState.unmetered
  package var idle = Idle.automatic

  package init() {}
}

/// How long a better condition must last before it counts. Without these delays, a power supply with a loose contact
/// would start launches again and again. Keys `returnAfter.power` and so on. Idleness has its own thresholds instead
/// (`IdleSettings`).
package struct ReturnDelays: Hashable, Sendable {
  package var power = Duration.seconds(10)
  /// For a battery charge that was below the threshold.
  package var battery = Duration.seconds(60)
  package var lowPowerMode = Duration.seconds(10)
  package var thermal = Duration.seconds(30)
  package var network = Duration.seconds(2)
  package var gpu = Duration.seconds(10)

  package init() {}
}
