import BatonCoordinator
package import BatonModel
package import BatonStore

/// What an operator has said about a host, a definition or the whole fleet.
extension JSONValue {
  /// A host that is drained.
  /// - Parameter running: what still runs there.
  package init(draining host: HostName, _ running: [RequestRecord]) {
    self = [
      "host": JSONValue(host.rawValue), "draining": .bool(true), "drained": .bool(running.isEmpty),
      "running": .array(
        running.map { ["identifier": JSONValue($0.identifier.rawValue), "request": JSONValue($0.number)] }),
    ]
  }

  package init(undrained host: HostName) { self = ["host": JSONValue(host.rawValue), "draining": .bool(false)] }

  package init(evicted pattern: IdentifierPattern, from host: HostName, _ isEvicted: Bool) {
    self = [
      "identifier": JSONValue(pattern.rawValue), "host": JSONValue(host.rawValue), "evicted": .bool(isEvicted),
    ]
  }

  package init(paused isPaused: Bool) { self = ["paused": .bool(isPaused)] }

  /// A definition that was removed.
  package init(removed pattern: IdentifierPattern) {
    self = ["identifier": JSONValue(pattern.rawValue), "removed": .bool(true)]
  }

  /// The conditions of a host that were replaced for a time.
  package init(simulated overrides: ConditionOverrides, on host: HostName, lasting: Duration) {
    self = [
      "host": JSONValue(host.rawValue), "simulated": JSONValue(overrides),
      "lastsSeconds": JSONValue(Int64(lasting.inSeconds)),
    ]
  }
}
