package import BatonModel

/// What `upsc` prints of one UPS: a line `name: value` per variable (NUT developer guide, "NUT command and variable
/// naming scheme").
package struct UPSStatus: Hashable, Sendable {
  /// The words of `ups.status`, such as `OL CHRG` or `OB LB`.
  package private(set) var words: [String] = []
  /// `battery.charge` in per cent, 0 to 100; nil if the UPS does not say.
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

  /// `OB` is on battery, whatever else it says, and so is `FSD`: the host is about to be switched off. `OL` is on line. Neither (`OFF`, `BYPASS` alone) says nothing of the power.
  package var power: PowerSource? {
    if words.contains("OB") || words.contains("FSD") { return .battery }
    return words.contains("OL") ? .external : nil
  }

  /// A battery that the UPS itself calls low (`LB`), or a shutdown that has been announced (`FSD`), is below what
  /// discretionary work needs, whatever charge it claims.
  package var effectiveCharge: Int? {
    guard words.contains("LB") || words.contains("FSD") else { return charge }
    return min(charge ?? .max, Policy.lowBatteryPercent - 1)
  }

  /// - Parameter name: of the UPS, for people.
  package func readings(of name: String) -> PowerReadings {
    if words.isEmpty && charge == nil { return .unknown("\(name): no ups.status") }
    let said = ([name] + (words.isEmpty ? ["no ups.status"] : words) + (charge.map { ["\($0) %"] } ?? []))
      .joined(separator: " ")
    return PowerReadings(
      power: Reading(power, source: UPSProbe.source, raw: said),
      battery: Reading(effectiveCharge, source: UPSProbe.source, raw: said))
  }

  /// One on battery is battery: which of them feeds this host is not known, and mains that is gone for one is gone for
  /// the room. One that does not answer is unknown: it may be the one. The lowest charge counts.
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

  /// What `upsc` says of its failure, such as "Data stale", without the rest.
  static func words(of failure: String) -> String {
    let parts = failure.split(separator: "Error: ", maxSplits: 1, omittingEmptySubsequences: false)
    return String(parts.count == 2 ? parts[1] : failure[...])
  }
}
