package import BatonCoordinator
package import BatonModel

extension JSONValue {
  package init(_ launch: SimulatedLaunch) {
    self = [
      "identifier": JSONValue(launch.identifier.rawValue), "request": JSONValue(launch.number),
      "launch": JSONValue(launch.launch), "host": JSONValue(launch.host.rawValue), "simulated": .bool(true),
    ]
  }

  /// A launch that was asked to stop.
  package init(_ launch: SimulatedLaunch, as reason: ExpiryReason.Kind?) {
    self = JSONValue(launch).adding(["reason": JSONValue(reason?.rawValue)])
  }
}

extension JSONValue {
  /// The replaced conditions, with the keys of a host's conditions. A condition that stays real is null.
  package init(_ overrides: ConditionOverrides) {
    self = [
      "power": JSONValue(overrides.power?.rawValue), "battery": JSONValue(overrides.battery),
      "lowPowerMode": JSONValue(overrides.lowPowerMode), "thermal": JSONValue(overrides.thermal?.name),
      "network": JSONValue(overrides.network?.rawValue), "idle": JSONValue(overrides.isIdle),
    ]
  }
}
