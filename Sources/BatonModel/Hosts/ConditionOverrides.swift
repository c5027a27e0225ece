/// Conditions that `baton simulate conditions` puts in the place of real ones on one host, for a while. Each carries the
/// source `simulated`, and so does whatever follows from it. What is nil stays as it is.
package struct ConditionOverrides: Hashable, Sendable {
  package var power: PowerSource?
  /// Per cent, 0 to 100.
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

  package var isEmpty: Bool { self == ConditionOverrides() }

  package static let source = "simulated"

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
