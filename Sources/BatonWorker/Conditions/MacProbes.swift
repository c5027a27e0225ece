package import BatonModel

/// What macOS says of itself by its own commands, which a worker there runs. Every function takes what the command
/// printed, and was tested on recorded output only.
package enum MacProbes {
  /// `pmset -g batt`. A Mac without a battery prints the first line only.
  package static func power(fromBatteryListing output: String) -> PowerReadings {
    let source = "pmset"
    let lines = output.split(whereSeparator: \.isNewline).map(\.trimmed)
    let said = lines.joined(separator: "; ")
    let first = lines.first ?? ""
    let isBattery = first.hasSuffix("'Battery Power'") || first.hasSuffix("'UPS Power'")
    let power: PowerSource? = isBattery ? .battery : first.hasSuffix("'AC Power'") ? .external : nil
    // Batteries inside come first; one that is not present says so.
    let batteries = lines.dropFirst().filter { $0.hasPrefix("-") && !$0.hasSuffix("present: false") }
    let charges = batteries.compactMap(percent)
    return PowerReadings(
      power: Reading(power, source: source, raw: said),
      battery: Reading(charges.min(), source: source, raw: batteries.isEmpty ? "no battery" : said))
  }

  /// The number before the first per cent sign, if it is one from 0 to 100.
  private static func percent(_ line: Substring) -> Int? {
    guard let sign = line.firstIndex(of: "%") else { return nil }
    let digits = line[..<sign].split(whereSeparator: \.isWhitespace).last
    return digits.flatMap { Int($0) }.flatMap { (0...100).contains($0) ? $0 : nil }
  }

  /// `pmset -g`: the settings in force. Nil where the Mac has no Low Power Mode.
  package static func lowPowerMode(fromSettings output: String) -> Reading<Bool>? {
    let words = output.split(whereSeparator: \.isNewline).map { $0.split(whereSeparator: \.isWhitespace) }
    // Macs with a high power mode have one setting for both, of which 1 is low.
    guard let found = words.first(where: { ["lowpowermode", "powermode"].contains($0.first) }), found.count > 1 else {
      return nil
    }
    let raw = "\(found[0]) \(found[1])"
    return Reading(Int(found[1]).map { $0 == 1 }, source: "pmset", raw: raw)
  }

  /// `pmset -g therm`. Intel Macs say to which per cent the processor is slowed down; all say whether a warning was
  /// recorded. A Mac where nothing was recorded is nominal.
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

  /// In per cent of full speed; Baton's own choice. Never critical: a Mac without its battery is slowed down to 35 %
  /// while it is cool.
  private static func state(ofLimit percent: Int) -> ThermalState {
    percent >= 100 ? .nominal : percent >= 80 ? .fair : .serious
  }

  /// `IOPMGetThermalWarningLevel` (IOKit): 0 normal, 5 danger, 10 crisis.
  private static func state(ofLevel level: Int) -> ThermalState {
    level >= 10 ? .critical : level > 0 ? .serious : .nominal
  }

  private static func number(of name: String, in lines: [Substring]) -> Int? {
    lines.first { $0.hasPrefix(name) }.flatMap { $0.split(separator: "=").last }.flatMap { Int($0.trimmed) }
  }

  /// `ioreg -c IOHIDSystem`: how long keyboard and pointer have been still, by the shortest of `HIDIdleTime`, which is
  /// in nanoseconds. Nil if it says nothing.
  package static func inputIdleTime(fromRegistry output: String) -> Duration? {
    let times = output.split(whereSeparator: \.isNewline).filter { $0.contains("\"HIDIdleTime\" =") }
      .compactMap { $0.split(separator: "=").last }.compactMap { UInt64($0.trimmed) }
    return times.min().flatMap { Int64(exactly: $0) }.map { .nanoseconds($0) }
  }
}
