package import BatonModel

/// One condition of a host, in words.
package struct ConditionFact: Hashable, Sendable {
  package var name: String
  package var value: String
  package var source: String
  package var raw: String
  /// How long the condition has had this value; `nil` if that is unknown.
  package var age: Duration?

  package var isSimulated: Bool { source == ConditionOverrides.source }
}

extension Conditions {
  /// Every condition, in the order in which commands show them.
  package var facts: [ConditionFact] {
    [
      fact("power", power) { $0.rawValue }, fact("battery", battery) { "\($0) %" },
      fact("low power mode", lowPowerMode) { $0 ? "on" : "off" }, fact("thermal", thermal) { $0.name },
      fact("network", network) { $0.rawValue }, fact("idle", isIdle) { $0 ? "yes" : "no" },
      fact("gpus", gpus) { gpus in gpus.isEmpty ? "none" : gpus.map(\.words).joined(separator: ", ") },
      fact("labels", labels) { labels in
        labels.isEmpty
          ? "none" : labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
      },
      ConditionFact(name: "owner", value: owner.words, source: "worker", raw: ""),
    ]
  }

  /// The names of the conditions that `baton simulate conditions` has replaced.
  package var simulated: [String] { facts.filter(\.isSimulated).map(\.name) }

  private func fact<Value>(_ name: String, _ reading: Reading<Value>, _ words: (Value) -> String) -> ConditionFact {
    ConditionFact(name: name, value: reading.words(words), source: reading.source, raw: reading.raw, age: reading.age)
  }
}

extension Reading {
  package func words(_ words: (Value) -> String) -> String { value.map(words) ?? "unknown" }
}

extension OwnersWord {
  /// The owner's word without its time, because that is on the clock of the host.
  fileprivate var words: String {
    switch self {
    case .accepting: "accepting"
    case .paused(let by, _): by.isEmpty ? "paused" : "paused by \(by)"
    case .outsideHours: "outside its hours"
    }
  }
}

extension GPU {
  fileprivate var words: String {
    let memory = memoryBytes > 0 ? "\(memoryBytes >> 20) MiB" : "shared memory"
    return "\(name) (\(isPresent ? memory : "gone"))"
  }
}
