/// Conditions that `baton simulate conditions` puts in the place of the real conditions of one host, for a limited
/// time. A field that is `nil` leaves the real condition as it is.
///
/// Each replaced condition has the source `simulated`. The obstacles and expiries that follow from it show this source
/// too.
package struct ConditionOverrides: Hashable, Sendable {
  package var power: PowerSource?
  /// The charge of the battery in per cent, 0 to 100.
  package var battery: Int?
  package var lowPowerMode: Bool?
  package var thermal: ThermalState?
  package var network: NetworkState?
  package var isIdle: Bool?

  package init(
    power: PowerSource? = nil, battery: Int? = nil, lowPowerMode: Bool? = nil, thermal: ThermalState? = nil,
    network: NetworkState? = nil, isIdle: Bool? = nil
  ) {
    self.power = power
    self.battery = battery
    self.lowPowerMode = lowPowerMode
    self.thermal = thermal
    self.network = network
    self.isIdle = isIdle
  }

  /// True if no condition is replaced. Such a value ends a simulation.
  package var isEmpty: Bool { self == ConditionOverrides() }

  package static let source = "simulated"

  /// The conditions with the overrides in place. The raw reading of each replaced condition stays, so that people can
  /// still see it.
  package func applied(to real: Conditions) -> Conditions {
    var conditions = real
    replace(&conditions.power, by: power)
    replace(&conditions.battery, by: battery)
    replace(&conditions.lowPowerMode, by: lowPowerMode)
    replace(&conditions.thermal, by: thermal)
    replace(&conditions.network, by: network)
    replace(&conditions.isIdle, by: isIdle)
    return conditions
  }

  private func replace<Value>(_ reading: inout Reading<Value>, by value: Value?) {
    guard let value else { return }
    reading = Reading(value, source: Self.source, raw: reading.raw)
  }
}
