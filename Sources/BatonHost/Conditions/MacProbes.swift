package import BatonModel

/// Reads what macOS prints about itself. Each function takes the output of one command, which `MacSystem` runs. These
/// functions are tested with recorded output only.
package enum MacProbes {
  /// Reads the output of `pmset -g batt`. A Mac without a battery prints only the first line.
  package static func power(fromBatteryListing output: String) -> PowerReadings {
    let source = "pmset"
    let lines = output.split(whereSeparator: \.isNewline).map(\.trimmed)
    let said = lines.joined(separator: "; ")
    let first = lines.first ?? ""
    let isBattery = first.hasSuffix("'Battery Power'") || first.hasSuffix("'UPS Power'")
    let power: PowerSource? = isBattery ? .battery : first.hasSuffix("'AC Power'") ? .external : nil
    // Internal batteries are listed first. A battery that is not present is marked as such.
    let batteries = lines.dropFirst().filter { $0.hasPrefix("-") && !$0.hasSuffix("present: false") }
    let charges = batteries.compactMap(percent)
    return PowerReadings(
      power: Reading(power, source: source, raw: said),
      battery: Reading(charges.min(), source: source, raw: batteries.isEmpty ? "no battery" : said))
  }

  /// The number before the first per cent sign, or `nil` if it is not between 0 and 100.
  private static func percent(_ line: Substring) -> Int? {
    guard let sign = line.firstIndex(of: "%") else { return nil }
    let digits = line[..<sign].split(whereSeparator: \.isWhitespace).last
    return digits.flatMap { Int($0) }.flatMap { (0...100).contains($0) ? $0 : nil }
  }

  /// Reads the output of `pmset -g`, the settings in force. `nil` if the Mac has no Low Power Mode.
  package static func lowPowerMode(fromSettings output: String) -> Reading<Bool>? {
    let words = output.split(whereSeparator: \.isNewline).map { $0.split(whereSeparator: \.isWhitespace) }
    // Macs with a high power mode have one setting for both modes, in which 1 is the low one.
    guard let found = words.first(where: { ["lowpowermode", "powermode"].contains($0.first) }), found.count > 1 else {
      return nil
    }
    let raw = "\(found[0]) \(found[1])"
    return Reading(Int(found[1]).map { $0 == 1 }, source: "pmset", raw: raw)
  }

  /// Reads the output of `pmset -g therm`. Intel Macs print the limit of the processor's speed in per cent; all Macs
  /// print whether a thermal warning was recorded. A Mac without a recorded warning is nominal.
  package static func thermal(fromWarnings output: String) -> Reading<ThermalState> {
    let lines = output.split(whereSeparator: \.isNewline).map(\.trimmed)
    let limits = ["CPU_Speed_Limit", "CPU_Scheduler_Limit"].compactMap { number(of: $0, in: lines) }
    let warning = lines.first { $0.hasPrefix("Thermal Warning Level") || $0.hasPrefix("Thermal warning level") }
    let level = warning.flatMap { $0.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) } }
    let raw = lines.joined(separator: "; ")
    let wasRecorded = !lines.contains { $0.hasSuffix("No thermal warning level has been recorded") }
    if limits.isEmpty && level == nil && wasRecorded { return Reading(nil, source: "pmset", raw: raw) }
    return Reading(max(state(ofLimit: limits.min() ?? 100), state(ofLevel: level ?? 0)), source: "pmset", raw: raw)
  }

  /// - Parameter percent: the speed limit, in per cent of full speed. The thresholds are Baton's own choice. A speed
  ///   limit never means critical, because a Mac without its battery is slowed down to 35 % while it is cool.
  private static func state(ofLimit percent: Int) -> ThermalState {
    percent >= 100 ? .nominal : percent >= 80 ? .fair : .serious
  }

  /// - Parameter level: the level of `IOPMGetThermalWarningLevel` (IOKit): 0 normal, 5 danger, 10 crisis.
  private static func state(ofLevel level: Int) -> ThermalState {
    level >= 10 ? .critical : level > 0 ? .serious : .nominal
  }

  private static func number(of name: String, in lines: [Substring]) -> Int? {
    lines.first { $0.hasPrefix(name) }.flatMap { $0.split(separator: "=").last }.flatMap { Int($0.trimmed) }
  }

  /// Reads the output of `ioreg -c IOHIDSystem`: how long keyboard and pointer have not been used. Returns the shortest
  /// of the `HIDIdleTime` values, which are in nanoseconds, or `nil` if there is none.
  package static func inputIdleTime(fromRegistry output: String) -> Duration? {
    let times = output.split(whereSeparator: \.isNewline).filter { $0.contains("\"HIDIdleTime\" =") }
      .compactMap { $0.split(separator: "=").last }.compactMap { UInt64($0.trimmed) }
    return times.min().flatMap { Int64(exactly: $0) }.map { .nanoseconds($0) }
  }
}
