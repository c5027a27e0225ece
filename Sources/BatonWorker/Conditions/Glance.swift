import BatonModel

/// The probes that read small files, all at one moment.
struct Glance: Sendable {
  struct Seen: Sendable {
    var power: PowerReadings?
    var lowPowerModes: [Reading<Bool>] = []
    var thermal: Reading<ThermalState>?
    var network: Reading<NetworkState>?
    var idle: IdleVerdict?
  }

  private let probes: Set<ConditionSettings.Probe>
  private let power: PowerProbe
  private let platformProfile: PlatformProfileProbe
  private var thermal: ThermalProbe
  private let network: NetworkProbe
  private var idle: IdleProbe

  init(_ settings: ConditionSettings, ownTime: @escaping @Sendable () -> Duration?) {
    probes = settings.probes
    power = PowerProbe(root: settings.root)
    platformProfile = PlatformProfileProbe(root: settings.root)
    thermal = ThermalProbe(root: settings.root, settings: settings.thermal)
    network = NetworkProbe(root: settings.root, settings: settings.network)
    idle = IdleProbe(root: settings.root, settings: settings.idle, ownTime: ownTime)
  }

  /// Desktops whose hints the bus may be asked for.
  var desktops: [String] { idle.desktops }

  /// - Parameter isWorking: a launch runs here.
  mutating func look(at now: Instant, date: Timestamp, _ bus: BusFacts, isWorking: Bool) -> Seen {
    var seen = Seen()
    if probes.contains(.power) { seen.power = power.read() }
    if probes.contains(.lowPowerMode) {
      seen.lowPowerModes = [bus.powerProfile, platformProfile.read()].compactMap { $0 }
      if seen.lowPowerModes.isEmpty {
        seen.lowPowerModes = [Reading(nil, source: "", raw: "neither a platform profile nor a power daemon")]
      }
    }
    if probes.contains(.thermal) { seen.thermal = thermal.read(at: now) }
    if probes.contains(.network) { seen.network = network.read(cost: bus.networkCost) }
    if probes.contains(.idle) { seen.idle = idle.read(at: now, date: date, logind: bus.logind, isWorking: isWorking) }
    return seen
  }
}

/// What only the bus says, handed to the probes that weigh it.
struct BusFacts: Sendable {
  var networkCost: NetworkCost?
  var logind: LogindAnswer?
  var powerProfile: Reading<Bool>?
}
