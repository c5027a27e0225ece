package import BatonModel

/// The output of `upsc` for one UPS: a line `name: value` per variable (NUT developer guide, "NUT command and variable
/// naming scheme").
package struct UPSStatus: Hashable, Sendable {
  /// The words of `ups.status`, such as `OL CHRG` or `OB LB`.
  package private(set) var words: [String] = []
  /// `battery.charge` in per cent, 0 to 100; `nil` if the UPS does not report it.
  package private(set) var charge: Int?

  package init(_ output: String) {
    for line in output.split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1).map(\.trimmed)
      guard parts.count == 2 else { continue }
      switch parts[0] {
      case "ups.status": words = parts[1].split(whereSeparator: \.isWhitespace).map(String.init)
      case "battery.charge": charge = Double(parts[1]).flatMap { (0...100).contains($0) ? Int($0) : nil }
      default: break
      }
    }
  }

  /// The power source. `OB` means on battery, whatever other words there are. `FSD` also counts as battery, because the
  /// host is about to be switched off. `OL` means on line. Without these words (for example `OFF`, or `BYPASS` alone),
  /// the source is unknown.
  package var power: PowerSource? {
    if words.contains("OB") || words.contains("FSD") { return .battery }
    return words.contains("OL") ? .external : nil
  }

  /// The charge that counts. A battery that the UPS calls low (`LB`), or an announced shutdown (`FSD`), counts as a
  /// charge below the threshold for discretionary work, whatever charge the UPS reports.
  package var effectiveCharge: Int? {
    guard words.contains("LB") || words.contains("FSD") else { return charge }
    return min(charge ?? .max, Policy.lowBatteryPercent - 1)
  }

  /// - Parameter name: the name of the UPS, for people.
  package func readings(of name: String) -> PowerReadings {
    if words.isEmpty && charge == nil { return .unknown("\(name): no ups.status") }
    let said = ([name] + (words.isEmpty ? ["no ups.status"] : words) + (charge.map { ["\($0) %"] } ?? []))
      .joined(separator: " ")
    return PowerReadings(
      power: Reading(power, source: UPSProbe.source, raw: said),
      battery: Reading(effectiveCharge, source: UPSProbe.source, raw: said))
  }

  /// Combines the readings of several UPS devices. If one is on battery, the result is battery: it is not known which
  /// UPS feeds this host, and a power cut at one UPS is likely to affect the whole room. If one does not answer and no
  /// other is on battery, the result is unknown, because it may be the UPS that feeds this host. The lowest known
  /// charge counts.
  static func combine(_ readings: [PowerReadings]) -> PowerReadings? {
    guard let first = readings.first else { return nil }
    if readings.count == 1 { return first }
    let powers = readings.map(\.power.value)
    let power: PowerSource? = powers.contains(.battery) ? .battery : powers.contains(nil) ? nil : .external
    let said = readings.map(\.power.raw).joined(separator: "; ")
    return PowerReadings(
      power: Reading(power, source: UPSProbe.source, raw: said),
      battery: Reading(readings.compactMap(\.battery.value).min(), source: UPSProbe.source, raw: said))
  }

  /// The reason that `upsc` gives for its failure, such as "Data stale", without the words before it.
  static func words(of failure: String) -> String {
    let parts = failure.split(separator: "Error: ", maxSplits: 1, omittingEmptySubsequences: false)
    return String(parts.count == 2 ? parts[1] : failure[...])
  }
}
