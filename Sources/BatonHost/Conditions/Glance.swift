package import BatonModel

/// All probes that read small files, read at one moment. `ConditionMonitor` uses it for each look at the host.
package struct Glance: Sendable {
  package struct Seen: Sendable {
    package var power: PowerReadings?
    package var lowPowerModes: [Reading<Bool>] = []
    package var thermal: Reading<ThermalState>?
    package var network: Reading<NetworkState>?
    package var idle: IdleVerdict?
    /// The names of the graphical sessions in the foreground.
    var desktops: [String] = []

    /// The readings that count while the system does not answer: every probed condition is unknown.
    static func silence(_ probes: Set<ConditionSettings.Probe>) -> Seen {
      var seen = Seen()
      let raw = "the system does not answer"
      if probes.contains(.power) {
        seen.power = PowerReadings(
          power: Reading(nil, source: PowerProbe.source, raw: raw),
          battery: Reading(nil, source: PowerProbe.source, raw: raw))
      }
      if probes.contains(.thermal) { seen.thermal = Reading(nil, source: ThermalProbe.source, raw: raw) }
      if probes.contains(.network) { seen.network = Reading(nil, source: NetworkProbe.source, raw: raw) }
      if probes.contains(.idle) { seen.idle = .unknown(raw: raw, looksUnused: false) }
      return seen
    }
  }

  private let probes: Set<ConditionSettings.Probe>
  private let power: PowerProbe
  private let platformProfile: PlatformProfileProbe
  private var thermal: ThermalProbe
  private let network: NetworkProbe
  private var idle: IdleProbe

  /// - Parameter ownTime: the processor time of Baton and of all processes that it started, or `nil` if it is not
  ///   known.
  init(_ settings: ConditionSettings, ownTime: @escaping @Sendable () -> Duration?) {
    probes = settings.probes
    power = PowerProbe(root: settings.root, fullMargin: settings.fullMargin)
    platformProfile = PlatformProfileProbe(root: settings.root)
    thermal = ThermalProbe(root: settings.root, settings: settings.thermal)
    network = NetworkProbe(root: settings.root, settings: settings.network)
    idle = IdleProbe(root: settings.root, settings: settings.idle, ownTime: ownTime)
  }

  /// Reads all files once.
  /// - Parameters:
  ///   - date: the wall clock.
  ///   - bus: what the services on the system bus said last.
  ///   - isWorking: whether a launch runs on this host.
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
    if probes.contains(.idle) {
      seen.idle = idle.read(at: now, date: date, logind: bus.logind, isWorking: isWorking)
      seen.desktops = idle.desktops
    }
    return seen
  }
}

/// What only the services on the system bus can tell. The probes of `Glance` take these facts into account.
struct BusFacts: Sendable {
  var networkCost: NetworkCost?
  var logind: LogindAnswer?
  var powerProfile: Reading<Bool>?
}
