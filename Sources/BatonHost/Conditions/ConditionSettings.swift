public import BatonModel
package import BatonProcess

/// How a worker reads its host's conditions and how it judges them: the keys of `Config/worker.yaml` about conditions.
/// Each default is Baton's own choice unless its comment names a source.
public struct ConditionSettings: Sendable {
  /// What is probed. Every other condition is unknown. Key `probes`.
  public var probes = Set(Probe.allCases)
  /// The path of the folder below which the system's files are found, by default `/`. A container may have its host's
  /// files mounted elsewhere. Key `systemRoot`.
  public var systemRoot: String {
    get { root.path.isEmpty ? "/" : root.path }
    set { root = SystemRoot(newValue) }
  }
  /// The folder of `systemRoot`.
  package var root = SystemRoot()
  /// In per cent, 0 to 100; by default 5. A battery whose charge is at most this far below full may drain beside an
  /// online charger and still count as external power: some hosts work that way. Key `power.fullMargin`.
  public var fullMargin = 5
  /// What is assumed for a condition that no probe knows.
  public var treatUnknownAs = UnknownTreatment()
  /// How long a better condition must last before it counts.
  public var returnAfter = ReturnDelays()
  /// Which uninterruptible power supplies are asked.
  public var ups = UPSSettings()
  /// When the host counts as hot.
  public var thermal = ThermalSettings()
  /// What network the host has, and what it costs.
  public var network = NetworkSettings()
  /// A loss of the network that is over within this time is ignored (contract, row 19); by default 10 s. Key
  /// `network.lostAfter`.
  public var networkLostAfter = Duration.seconds(10)
  /// When the host counts as in use.
  public var idle = IdleSettings()
  /// How GPUs are listed.
  public var gpu = GPUSettings()
  /// The host's labels, which jobs can require with `requiredLabels`: at most 64 names with values. Key `labels`.
  public var labels: [String: String] = [:]
  /// A command of the operator that prints further labels; `nil` for none. Key `facts.command`.
  public var facts: FactsSettings?

  /// Creates the default settings.
  public init() {}

  /// Counts the host as idle without probing. `baton run` uses this for work that the person at the host asked for,
  /// because this work must not wait until that person leaves.
  package mutating func assumesIdle() {
    probes.remove(.idle)
    treatUnknownAs.idle = .idle
  }

  /// What can be probed. The names are those of the key `probes`.
  public enum Probe: String, CaseIterable, Sendable {
    /// Whether the host has external power, and the charge of its battery.
    case power
    /// Uninterruptible power supplies, through Network UPS Tools.
    case ups
    /// Whether the system saves power.
    case lowPowerMode
    /// How hot the host is.
    case thermal
    /// Whether there is a network, and whether it costs money.
    case network
    /// Whether a person or another program uses the host.
    case idle
    /// Which GPUs there are.
    case gpu
  }
}

/// The values that are assumed for unknown conditions (contract, row 21). Keys `treatUnknownAs.power`, `.thermal`,
/// `.network` and `.idle`. Two assumptions cannot be changed: unknown GPUs count as no GPU, and an unknown low power
/// mode counts as off.
public struct UnknownTreatment: Hashable, Sendable {
  /// What is assumed if it is not known whether the host is in use.
  public enum Idle: String, CaseIterable, Sendable {
    /// Idle if there is no seat and no terminal session, and load and pressure are below their thresholds. Otherwise
    /// busy.
    case automatic
    /// No person and no other program uses it.
    case idle
    /// A person or another program uses it.
    case busy
  }

  /// The power; by default external.
  public var power = PowerSource.external
  /// The temperature; by default nominal.
  public var thermal = ThermalState.nominal
  /// The network; by default one that costs nothing.
  public var network = NetworkState.unmetered
  /// Whether the host is idle; by default `automatic`.
  public var idle = Idle.automatic

  /// Creates the default settings.
  public init() {}
}

/// How long a better condition must last before it counts. Without these delays, a power supply with a loose contact
/// would start launches again and again. Keys `returnAfter.power` and so on. Idleness has its own thresholds instead
/// (`IdleSettings`).
public struct ReturnDelays: Hashable, Sendable {
  /// For external power; by default 10 s.
  public var power = Duration.seconds(10)
  /// For a battery charge that was below the threshold; by default 60 s.
  public var battery = Duration.seconds(60)
  /// For the end of low power mode; by default 10 s.
  public var lowPowerMode = Duration.seconds(10)
  /// For a cooler state; by default 30 s.
  public var thermal = Duration.seconds(30)
  /// For a network that is back, or that costs nothing any more; by default 2 s.
  public var network = Duration.seconds(2)
  /// For a GPU that is back; by default 10 s.
  public var gpu = Duration.seconds(10)

  /// Creates the default settings.
  public init() {}
}
