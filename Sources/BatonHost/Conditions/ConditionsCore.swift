package import BatonModel

/// The last reading of each probe. A property is `nil` if its probe has not read anything yet, or has nothing to read
/// on this host.
package struct Observations: Sendable {
  /// The supplies that the operating system itself knows.
  package var power: PowerReadings?
  /// The UPS devices that are asked over the network.
  package var ups: PowerReadings?
  /// The readings of the firmware and of a power daemon.
  package var lowPowerModes: [Reading<Bool>] = []
  package var thermal: Reading<ThermalState>?
  package var network: Reading<NetworkState>?
  package var idle: IdleVerdict?
  package var gpus: Reading<[GPU]>?
  package var labels = Reading<[String: String]>([:], source: "worker.yaml")
  package var owner = OwnersWord.accepting
}

/// Computes a host's conditions from the readings of its probes. It merges several readings of one condition, delays
/// changes with `Hysteresis`, and replaces unknown values by the assumptions in `UnknownTreatment`. It is a value
/// without a clock; `ConditionMonitor` owns it and passes the time.
package struct ConditionsCore: Sendable {
  package var observations = Observations()
  private let unknown: UnknownTreatment
  private var power: Hysteresis<PowerSource>
  private var battery: Hysteresis<Int>
  private var lowPowerMode: Hysteresis<Bool>
  private var thermal: Hysteresis<ThermalState>
  private var network: Hysteresis<NetworkState>
  private var idle: Hysteresis<Bool>
  private var gpus: Hysteresis<[GPU]>
  private var labels: Hysteresis<[String: String]>

  package init(_ settings: ConditionSettings) {
    let delays = settings.returnAfter
    unknown = settings.treatUnknownAs
    power = Hysteresis(returnAfter: delays.power) { $0 == .battery ? 0 : 1 }
    battery = Hysteresis(returnAfter: delays.battery) { ($0 ?? 100) < Policy.lowBatteryPercent ? 0 : 1 }
    lowPowerMode = Hysteresis(returnAfter: delays.lowPowerMode) { $0 == true ? 0 : 1 }
    thermal = Hysteresis(returnAfter: delays.thermal) { -($0 ?? .nominal).rawValue }
    network = Hysteresis(returnAfter: delays.network, lossAfter: settings.networkLostAfter) { $0.permission }
    idle = Hysteresis(returnAfter: .zero) { $0 == false ? 0 : 1 }
    gpus = Hysteresis(returnAfter: delays.gpu) { ($0 ?? []).count(where: \.isPresent) }
    labels = Hysteresis(returnAfter: .zero) { _ in 0 }
    observations.labels = Reading(settings.labels, source: "worker.yaml")
  }

  /// `true` while a reading differs from the condition that counts, and its delay has not passed yet.
  package var isWaiting: Bool {
    power.isWaiting || battery.isWaiting || lowPowerMode.isWaiting || thermal.isWaiting || network.isWaiting
      || gpus.isWaiting
  }

  /// Returns the conditions that count at `now`.
  package mutating func conditions(at now: Instant) -> Conditions {
    let (source, charge) = mergedPower
    return Conditions(
      power: power.read(source.known(or: unknown.power), at: now), battery: battery.read(charge, at: now),
      lowPowerMode: lowPowerMode.read(mergedLowPowerMode.known(or: false), at: now),
      thermal: thermal.read((observations.thermal ?? .unprobed).known(or: unknown.thermal), at: now),
      network: network.read((observations.network ?? .unprobed).known(or: unknown.network), at: now),
      isIdle: idle.read(knownIdle, at: now), gpus: gpus.read(observations.gpus ?? .unprobed, at: now),
      labels: labels.read(observations.labels, at: now), owner: observations.owner)
  }

  /// Merges the readings of the UPS and of the system's own supplies. One supply on battery puts the host on battery.
  /// If no supply is on battery and one is unknown, such as a UPS that no longer answers, the power source is unknown.
  /// The lowest known charge counts.
  private var mergedPower: (Reading<PowerSource>, Reading<Int>) {
    let found = [observations.ups, observations.power].compactMap { $0 }
    let sources = found.map(\.power)
    let source =
      sources.first { $0.value == .battery } ?? sources.first { $0.value == nil } ?? sources.first ?? .unprobed
    let charges = found.map(\.battery).filter { $0.value != nil }
    let charge = charges.min { ($0.value ?? 0) < ($1.value ?? 0) } ?? found.first?.battery ?? .unprobed
    return (source, charge)
  }

  private var mergedLowPowerMode: Reading<Bool> {
    let modes = observations.lowPowerModes
    return modes.first { $0.value == true } ?? modes.first { $0.value != nil } ?? modes.first ?? .unprobed
  }

  private var knownIdle: Reading<Bool> {
    switch observations.idle {
    case .known(let reading): reading
    case .unknown(let raw, let looksUnused): Reading(nil, source: "", raw: raw).known(or: treated(looksUnused))
    case nil: Reading.unprobed.known(or: treated(true))
    }
  }

  private func treated(_ looksUnused: Bool) -> Bool {
    switch unknown.idle {
    case .automatic: looksUnused
    case .idle: true
    case .busy: false
    }
  }
}

extension Reading {
  /// The reading of a condition that was not probed.
  static var unprobed: Reading { Reading(nil, source: assumed, raw: "not probed") }

  /// The source of a value that was assumed, not read.
  static var assumed: String { "assumed" }

  /// Returns this reading if its value is known. Otherwise returns `value` as an assumed value, with the reason why the
  /// real value is unknown.
  func known(or value: Value) -> Reading {
    if self.value != nil { return self }
    let who = source.isEmpty || source == Self.assumed ? "" : "\(source): "
    return Reading(value, source: Self.assumed, raw: raw == "not probed" ? raw : "unknown: \(who)\(raw)")
  }
}

extension NetworkState? {
  /// How much this state permits: a higher number permits more. An unknown network ranks with an unmetered one.
  fileprivate var permission: Int {
    switch self {
    case .unavailable: 0
    case .metered: 1
    case .unmetered, nil: 2
    }
  }
}
