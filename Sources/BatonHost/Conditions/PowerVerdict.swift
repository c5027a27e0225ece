import BatonModel

/// Decides from all supplies of a host whether the host runs on battery.
///
/// If a line supply is online, the host is on external power, as in systemd's `systemd-ac-power`. If no line supply is
/// online and a battery discharges, the host is on battery. Supplies often contradict each other, and either side can
/// be wrong:
///
/// - **A line is online, and the batteries drain.** Either the charger is too weak or the firmware is wrong: ports that
///   stay online after unplugging (Apple's M2 with `tps6598x`), adapters that report late (Surface), a telephone that
///   counts as a charger (Galaxy Book). These cases cannot be told apart. In each of them the battery carries the work,
///   which `requiresExternalPower` is to prevent, and the rule for low batteries would not protect a host that drains
///   while it counts as plugged in. The result is therefore `battery`, with one exception: within `fullMargin` of full,
///   or of `charge_control_end_threshold`, the result is `external`, because some firmware lets a battery drain on
///   purpose while it is plugged in (Framework, AXP20x). The exception has a price: a host whose adapter is stuck at
///   online is noticed only after it has lost this much charge, unless an adapter of type `Mains` says that it is
///   offline. The adapter and the battery then outweigh the line that is online.
/// - **All lines are offline, and no battery drains.** A battery that says `Charging`, `Full` or `Not charging` does
///   not feed the host, so another supply does: a port that the firmware does not report, or a charging pad. The result
///   is `external`. If the battery's status only lags behind after unplugging, work stops as soon as the status changes
///   to `Discharging`.
/// - **All lines are offline, and there is no battery.** The host runs, so it has power: `external`.
struct PowerVerdict {
  private let lines: [PowerSupply]
  private let batteries: [PowerSupply]
  private let others: [PowerSupply]
  private let fullMargin: Int

  init(_ supplies: [PowerSupply], fullMargin: Int) {
    lines = supplies.filter { $0.kind == .mains || $0.kind == .otherLine }
    batteries = supplies.filter { $0.kind == .battery }
    others = supplies.filter { $0.kind == .unclear }
    self.fullMargin = fullMargin
  }

  /// The power source, with what each supply said. Unknown if the supplies do not tell.
  var reading: Reading<PowerSource> {
    let (value, remark) = lines.contains { $0.isOnline == true } ? whenOnline : whenOffline
    let said = (lines + batteries + others).map(\.summary)
    return Reading(
      value, source: PowerProbe.source, raw: (said + [remark]).filter { !$0.isEmpty }.joined(separator: "; "))
  }

  /// Whether the batteries drain as a whole. One battery may charge another (ThinkPads with two batteries), so they
  /// drain together only if no battery is being charged.
  private var drain: Bool {
    batteries.contains { $0.status == .discharging } && !batteries.contains { $0.status == .charging }
  }

  private var whenOnline: (PowerSource, remark: String) {
    guard drain else { return (.external, "") }
    if lines.contains(where: { $0.kind == .mains && $0.isOnline == false }),
      !lines.contains(where: { $0.kind == .mains && $0.isOnline == true })
    {
      return (.battery, "a port reports online, but the adapter is offline and the battery drains")
    }
    let areFull = batteries.allSatisfy { $0.status != .discharging || $0.isFull(within: fullMargin) }
    return areFull
      ? (.external, "full, and drains a little by design")
      : (.battery, "reported as online, but the battery drains")
  }

  private var whenOffline: (PowerSource?, remark: String) {
    if batteries.contains(where: { $0.status == .discharging }) { return (.battery, "") }
    let areOffline = !lines.isEmpty && lines.allSatisfy { $0.isOnline == false }
    if batteries.isEmpty { return withoutBattery(areOffline) }
    if batteries.contains(where: { $0.status == .charging }) || batteries.allSatisfy({ $0.status != nil }) {
      return (.external, areOffline ? "reported as offline, but no battery drains" : "")
    }
    return (areOffline ? .battery : nil, "")
  }

  private func withoutBattery(_ areOffline: Bool) -> (PowerSource?, remark: String) {
    if lines.isEmpty && others.isEmpty { return (.external, "no supplies") }
    return areOffline ? (.external, "reported as offline, but there is no battery and the host runs") : (nil, "")
  }
}

extension PowerVerdict {
  /// The charge of all batteries together, in per cent and rounded down. Batteries are weighted by their full capacity
  /// if all of them report it; otherwise the result is their mean.
  static func charge(of supplies: [PowerSupply]) -> Reading<Int> {
    let batteries = supplies.filter { $0.kind == .battery }
    let said = batteries.map(\.chargeSummary).joined(separator: "; ")
    let known = batteries.filter { $0.charge != nil }
    guard !known.isEmpty else {
      return Reading(nil, source: PowerProbe.source, raw: batteries.isEmpty ? "no battery" : said)
    }
    let weights = self.weights(of: known)
    let sum = zip(known, weights).reduce(0) { $0 + ($1.0.charge ?? 0) * $1.1 }
    // The small addition keeps 20 % from becoming 19 % by the rounding of binary fractions.
    let percent = Int((sum / weights.reduce(0, +) + 1e-6).rounded(.down))
    return Reading(percent, source: PowerProbe.source, raw: said)
  }

  private static func weights(of batteries: [PowerSupply]) -> [Double] {
    for capacity in [\PowerSupply.energyWhenFull, \PowerSupply.chargeWhenFull] {
      let weights = batteries.compactMap { $0[keyPath: capacity] }
      if weights.count == batteries.count { return weights }
    }
    return batteries.map { _ in 1 }
  }
}
