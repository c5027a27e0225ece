import BatonModel

/// What the supplies of a host say together.
///
/// Any line supply that is online means external power, as in systemd's `systemd-ac-power`; none online and a battery
/// that discharges means battery. Supplies that contradict each other are common, and both sides are known to be wrong:
///
/// - **Online, and the batteries drain.** Either the charger is too weak, or the firmware lies: ports that stay online
///   after unplugging (Apple's M2 with `tps6598x`), adapters that lag (Surface), a telephone taken for a charger
///   (Galaxy Book). Nothing tells these apart, and in each the battery carries the work, which is what
///   `requiresExternalPower` is to prevent; and the rule for low batteries would never hold on a host that drains while
///   it counts as plugged in. So it is `battery`, with one exception: within `fullMargin` of full, or of
///   `charge_control_end_threshold`, firmware lets a battery drain on purpose while plugged in (Framework, AXP20x). A
///   host whose adapter is stuck at online is therefore noticed only once it has lost that much charge, unless an
///   adapter of type `Mains` beside it says that it is offline: then two witnesses stand against one.
/// - **Offline, and no battery drains.** A battery that says `Charging`, `Full` or `Not charging` is not what feeds the
///   host, so something else is: a port that the firmware does not count, or a charging pad. It is `external`. Where
///   the battery's word merely lags after unplugging, work stops as soon as it says `Discharging`.
/// - **Offline, without a battery.** The host runs, so it is fed: `external`.
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

  var reading: Reading<PowerSource> {
    let (value, remark) = lines.contains { $0.isOnline == true } ? whenOnline : whenOffline
    let said = (lines + batteries + others).map(\.summary)
    return Reading(
      value, source: PowerProbe.source, raw: (said + [remark]).filter { !$0.isEmpty }.joined(separator: "; "))
  }

  /// One battery may feed another (ThinkPad's two): they drain together only if none is charged.
  private var drain: Bool {
    batteries.contains { $0.status == .discharging } && !batteries.contains { $0.status == .charging }
  }

  private var whenOnline: (PowerSource, remark: String) {
    guard drain else { return (.external, "") }
    if lines.contains(where: { $0.kind == .mains && $0.isOnline == false }),
      !lines.contains(where: { $0.kind == .mains && $0.isOnline == true })
    {
      return (.battery, "online is not believed: the adapter is offline and the battery drains")
    }
    let areFull = batteries.allSatisfy { $0.status != .discharging || $0.isFull(within: fullMargin) }
    return areFull
      ? (.external, "full, and drains a little by design")
      : (.battery, "online is not believed: the battery drains")
  }

  private var whenOffline: (PowerSource?, remark: String) {
    if batteries.contains(where: { $0.status == .discharging }) { return (.battery, "") }
    let areOffline = !lines.isEmpty && lines.allSatisfy { $0.isOnline == false }
    if batteries.isEmpty { return withoutBattery(areOffline) }
    if batteries.contains(where: { $0.status == .charging }) || batteries.allSatisfy({ $0.status != nil }) {
      return (.external, areOffline ? "offline is not believed: no battery drains" : "")
    }
    return (areOffline ? .battery : nil, "")
  }

  private func withoutBattery(_ areOffline: Bool) -> (PowerSource?, remark: String) {
    if lines.isEmpty && others.isEmpty { return (.external, "no supplies") }
    return areOffline ? (.external, "no battery, and it runs") : (nil, "")
  }
}

extension PowerVerdict {
  /// The charge of all batteries together: by what they hold if each says so, else their mean. Rounded down.
  static func charge(of supplies: [PowerSupply]) -> Reading<Int> {
    let batteries = supplies.filter { $0.kind == .battery }
    let said = batteries.map(\.chargeSummary).joined(separator: "; ")
    let known = batteries.filter { $0.charge != nil }
    guard !known.isEmpty else {
      return Reading(nil, source: PowerProbe.source, raw: batteries.isEmpty ? "no battery" : said)
    }
    let weights = self.weights(of: known)
    let sum = zip(known, weights).reduce(0) { $0 + ($1.0.charge ?? 0) * $1.1 }
    // A little more, so that 20 % is not 19 by the arithmetic of binary fractions.
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
