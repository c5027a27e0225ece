package import BatonModel

extension HostStatus {
  /// One condition as people and scripts see it.
  package struct Fact: Hashable, Sendable, Codable {
    /// The condition's name, such as `lowPowerMode`.
    package var name: String
    /// The value in words; absent if it is unknown.
    package var value: String?
    /// The source of the reading, such as `sysfs` or `assumed`.
    package var source: String
    /// How long the condition has had this value; absent if it is not known.
    package var ageSeconds: StatusSeconds?
    /// What the probe read, in words for people.
    package var raw: String
  }
}

extension HostStatus.Fact {
  /// All conditions, in the order in which they are shown.
  package static func all(of conditions: Conditions) -> [HostStatus.Fact] {
    [
      fact("power", conditions.power) { $0.rawValue }, fact("battery", conditions.battery) { "\($0) %" },
      fact("lowPowerMode", conditions.lowPowerMode) { $0 ? "on" : "off" },
      fact("thermal", conditions.thermal) { $0.name }, fact("network", conditions.network) { $0.rawValue },
      fact("idle", conditions.isIdle) { $0 ? "yes" : "no" }, fact("gpus", conditions.gpus, gpus),
      fact("labels", conditions.labels, labels),
    ]
  }

  private static func gpus(_ gpus: [GPU]) -> String {
    let present = gpus.filter(\.isPresent)
    return present.isEmpty
      ? "none"
      : present.map { gpu in
        gpu.memoryBytes > 0 ? "\(gpu.name) (\(gpu.memoryBytes >> 20) MiB)" : gpu.name
      }.joined(separator: ", ")
  }

  private static func labels(_ labels: [String: String]) -> String {
    labels.isEmpty ? "none" : labels.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ", ")
  }

  private static func fact<Value>(_ name: String, _ reading: Reading<Value>, _ words: (Value) -> String) -> Self {
    Self(
      name: name, value: reading.value.map(words), source: reading.source,
      ageSeconds: reading.age.map { StatusSeconds($0) }, raw: reading.raw)
  }
}
