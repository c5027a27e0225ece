import BatonCoordinator
import BatonModel

extension JSONValue {
  init(_ host: HostReport) {
    let able = host.capabilities
    self = [
      "name": JSONValue(host.name.rawValue),
      "state": JSONValue(host.state.rawValue),
      "version": JSONValue(host.version),
      "slots": JSONValue(able.slots),
      "usedSlots": JSONValue(host.usedSlots),
      "running": .array(host.running.map { JSONValue($0.rawValue) }),
      "kinds": .array(JobKind.allCases.filter(able.kinds.contains).map { JSONValue($0.rawValue) }),
      "handlers": .array(able.handlers.map { JSONValue($0.rawValue) }),
      "runsCommands": .bool(able.runsCommands),
      "permittedIdentifiers": .array(able.permittedIdentifiers.map { JSONValue($0.rawValue) }),
      "lastSeenAt": JSONValue(host.lastSeenAt),
      "conditions": JSONValue(host.conditions),
    ]
  }

  private init(_ conditions: Conditions) {
    self = [
      "power": JSONValue(conditions.power) { JSONValue($0.rawValue) },
      "battery": JSONValue(conditions.battery) { JSONValue($0) },
      "lowPowerMode": JSONValue(conditions.lowPowerMode) { JSONValue($0) },
      "thermal": JSONValue(conditions.thermal) { JSONValue($0.name) },
      "network": JSONValue(conditions.network) { JSONValue($0.rawValue) },
      "idle": JSONValue(conditions.isIdle) { JSONValue($0) },
      "gpus": JSONValue(conditions.gpus) { gpus in
        .array(gpus.map { ["name": JSONValue($0.name), "memoryBytes": JSONValue($0.memoryBytes)] })
      },
      "pausedByOwner": .bool(conditions.isPausedByOwner),
    ]
  }

  /// The value is null where it is unknown.
  private init<Value>(_ reading: Reading<Value>, _ value: (Value) -> JSONValue) {
    self = [
      "value": reading.value.map(value) ?? .null, "source": JSONValue(reading.source), "raw": JSONValue(reading.raw),
    ]
  }
}
