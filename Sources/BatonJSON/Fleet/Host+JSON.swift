package import BatonCoordinator
package import BatonModel
package import BatonStore
import BatonTelemetry

extension JSONValue {
  package init(_ host: HostReport) {
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
      "sandbox": able.sandbox.map { JSONValue($0) } ?? .null,
      "allow": able.permissions.map { JSONValue($0) } ?? .null,
      "lastSeenAt": JSONValue(host.lastSeenAt),
      "coordinator": JSONValue(host.coordinator),
      "asOfSeconds": JSONValue(host.age.map { Int($0.components.seconds) }),
      "conditions": JSONValue(host.conditions),
    ]
  }

  private init(_ sandbox: HostSandbox) {
    self = [
      "required": JSONValue(sandbox.required?.rawValue ?? "none"),
      "available": JSONValue(sandbox.available?.rawValue ?? "none"), "problem": JSONValue(sandbox.problem),
    ]
  }

  private init(_ permissions: CommandPermissions) {
    func paths(_ patterns: [PathPattern]?) -> JSONValue {
      patterns.map { .array($0.map { JSONValue($0.rawValue) }) } ?? .null
    }
    self = [
      "commands": paths(permissions.commands), "directories": paths(permissions.directories),
      "network": .bool(permissions.network), "runsCommands": .bool(permissions.runsCommands),
      "secrets": .array((permissions.secrets ?? []).map { JSONValue($0) }),
      "users": .array((permissions.users ?? []).map { JSONValue($0) }),
      "principals": permissions.principals.map { .array($0.map { JSONValue($0.rawValue) }) } ?? .null,
    ]
  }

  private init(_ permission: SecretPermission) {
    self = [
      "files": JSONValue(permission.files.rawValue),
      "identifiers": .array(permission.identifiers.map { JSONValue($0.rawValue) }),
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
        .array(
          gpus.map { gpu in
            [
              "id": JSONValue(gpu.id), "name": JSONValue(gpu.name), "memoryBytes": JSONValue(gpu.memoryBytes),
              "present": .bool(gpu.isPresent),
            ]
          })
      },
      "labels": JSONValue(conditions.labels) { labels in
        .object(labels.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: JSONValue($0.value)) })
      },
      "owner": JSONValue(conditions.owner),
    ]
  }

  private init(_ word: OwnersWord) {
    switch word {
    case .accepting: self = ["state": "accepting", "by": .null, "until": .null]
    case .paused(let by, let until): self = ["state": "paused", "by": JSONValue(by), "until": JSONValue(until)]
    case .outsideHours(let until): self = ["state": "outsideHours", "by": .null, "until": JSONValue(until)]
    }
  }

  /// A condition with its source. An unknown value is null.
  private init<Value>(_ reading: Reading<Value>, _ value: (Value) -> JSONValue) {
    self = [
      "value": reading.value.map(value) ?? .null, "source": JSONValue(reading.source), "raw": JSONValue(reading.raw),
      "ageSeconds": JSONValue(reading.age.map { Int($0.components.seconds) }),
    ]
  }
}

extension JSONValue {
  package init(_ summary: HostSummary) {
    self = [
      "hosts": JSONValue(summary.total),
      "states": .object(
        HostReport.State.allCases.map { .init(key: $0.rawValue, value: JSONValue(summary.states[$0] ?? 0)) }),
      "conditions": .object(
        HostFilter.Condition.allCases.map { .init(key: $0.rawValue, value: JSONValue(summary.conditions[$0] ?? 0)) }),
      "slots": JSONValue(summary.slots), "usedSlots": JSONValue(summary.usedSlots),
    ]
  }
}

extension JSONValue {
  package init(_ history: HostHistory, of host: HostName) {
    self = [
      "host": JSONValue(host.rawValue),
      "conditions": .array(
        history.conditions.map { change in
          [
            "at": JSONValue(change.at), "condition": JSONValue(change.condition), "value": JSONValue(change.value),
            "source": JSONValue(change.source), "raw": JSONValue(change.raw),
          ]
        }),
      "launches": .array(
        history.launches.map { launch in
          [
            "identifier": JSONValue(launch.identifier.rawValue), "request": JSONValue(launch.number),
            "shard": JSONValue(launch.shard), "launch": JSONValue(launch.launch),
            "startedAt": JSONValue(launch.startedAt), "endedAt": JSONValue(launch.endedAt),
            "outcome": JSONValue(launch.outcome?.rawValue), "reason": JSONValue(launch.reason),
          ]
        }),
    ]
  }
}
