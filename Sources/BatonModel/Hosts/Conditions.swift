/// One condition of a host: its value, the source of the value, and the raw reading.
package struct Reading<Value: Hashable & Sendable & Codable>: Hashable, Sendable, Codable {
  /// The value; `nil` means that it is unknown.
  package var value: Value?
  /// The source of the value, such as `sysfs`, `logind`, `assumed` or `simulated`.
  package var source: String
  /// The raw reading, for people; may be empty.
  package var raw: String
  /// How long the condition had had this value when it was reported; `nil` if that is unknown.
  package var age: Duration?

  package init(_ value: Value?, source: String, raw: String = "", age: Duration? = nil) {
    self.value = value
    self.source = source
    self.raw = raw
    self.age = age
  }

  /// Adds `duration` to the age. The age becomes `nil` if `duration` is `nil`.
  fileprivate mutating func grow(older duration: Duration?) {
    age = age.flatMap { age in duration.map { age + $0 } }
  }

  /// Whether both readings have the same value and the same source. Their raw readings and ages may differ.
  package func agrees(with other: Reading) -> Bool { value == other.value && source == other.source }
}

/// Where a host gets its power from.
public enum PowerSource: String, Hashable, Sendable, Codable, CaseIterable {
  /// From the mains, directly or through an uninterruptible power supply that has mains.
  case external
  /// From a battery, its own or that of an uninterruptible power supply.
  case battery
}

/// The thermal state of a host, with Apple's four states (`ProcessInfo.ThermalState`).
public enum ThermalState: Int, Hashable, Sendable, Codable, CaseIterable, Comparable {
  /// Cool.
  case nominal
  /// Warm: no `processing` job starts, and those that run go on.
  case fair
  /// Hot, or slowed down by heat: `processing` jobs stop, and no `refresh` starts.
  case serious
  /// So hot that the host may shut down: nothing starts.
  case critical

  package var name: String {
    switch self {
    case .nominal: "nominal"
    case .fair: "fair"
    case .serious: "serious"
    case .critical: "critical"
    }
  }

  package init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }

  /// Whether `right` is the hotter state.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What network a host has.
public enum NetworkState: String, Hashable, Sendable, Codable, CaseIterable {
  /// None.
  case unavailable
  /// One that costs money by what is sent.
  case metered
  /// One that does not.
  case unmetered
}

package struct GPU: Hashable, Sendable, Codable {
  /// The id that the driver gives the GPU, such as `GPU-8f2…` (NVIDIA's UUID) or `/dev/dri/renderD128`; empty if the
  /// driver gives none.
  package var id: String
  package var name: String
  /// The GPU's own memory, in bytes; 0 if it is unknown, or if the GPU shares the memory of the host.
  package var memoryBytes: Int64
  /// False after the GPU has disappeared. The GPU keeps its index in the list, because launches hold GPUs by their
  /// index.
  package var isPresent: Bool

  package init(id: String = "", name: String, memoryBytes: Int64, isPresent: Bool = true) {
    self.id = id
    self.name = name
    self.memoryBytes = memoryBytes
    self.isPresent = isPresent
  }
}

/// Whether the host's owner lets the host work now (contract, row 26). The times are those of the host's wall clock,
/// and are for people only.
package enum OwnersWord: Hashable, Sendable, Codable {
  case accepting
  /// The owner paused the host with `baton-worker pause`, until `resume` or until the given time.
  case paused(by: String, until: Timestamp?)
  /// The time of day is outside the `hours` of the host's worker.yaml, until the given time.
  case outsideHours(until: Timestamp)
}

/// The conditions that a worker reports of its host.
package struct Conditions: Hashable, Sendable, Codable {
  package var power: Reading<PowerSource>
  /// The charge of the battery in per cent, 0 to 100; unknown if the host has no battery.
  package var battery: Reading<Int>
  package var lowPowerMode: Reading<Bool>
  package var thermal: Reading<ThermalState>
  package var network: Reading<NetworkState>
  package var isIdle: Reading<Bool>
  package var gpus: Reading<[GPU]>
  /// The labels of the host, which jobs may require: those of `labels` in worker.yaml, and those that the facts command
  /// prints.
  package var labels: Reading<[String: String]>
  package var owner: OwnersWord

  package init(
    power: Reading<PowerSource>, battery: Reading<Int>, lowPowerMode: Reading<Bool>, thermal: Reading<ThermalState>,
    network: Reading<NetworkState>, isIdle: Reading<Bool>, gpus: Reading<[GPU]>,
    labels: Reading<[String: String]> = Reading([:], source: "worker.yaml"), owner: OwnersWord = .accepting
  ) {
    self.power = power
    self.battery = battery
    self.lowPowerMode = lowPowerMode
    self.thermal = thermal
    self.network = network
    self.isIdle = isIdle
    self.gpus = gpus
    self.labels = labels
    self.owner = owner
  }

  /// Whether all values, their sources and the owner's word are the same. The raw readings and ages may differ.
  package func agrees(with other: Conditions) -> Bool {
    power.agrees(with: other.power) && battery.agrees(with: other.battery)
      && lowPowerMode.agrees(with: other.lowPowerMode) && thermal.agrees(with: other.thermal)
      && network.agrees(with: other.network) && isIdle.agrees(with: other.isIdle) && gpus.agrees(with: other.gpus)
      && labels.agrees(with: other.labels) && owner == other.owner
  }

  /// The same conditions at a later time: `duration` is added to every age. If `duration` is `nil`, every age becomes
  /// unknown.
  package func aged(by duration: Duration?) -> Conditions {
    var later = self
    later.power.grow(older: duration)
    later.battery.grow(older: duration)
    later.lowPowerMode.grow(older: duration)
    later.thermal.grow(older: duration)
    later.network.grow(older: duration)
    later.isIdle.grow(older: duration)
    later.gpus.grow(older: duration)
    later.labels.grow(older: duration)
    return later
  }

  /// The conditions that a worker reports while it has no probe: external power, an unmetered network, no GPU, and an
  /// unknown idleness. Each reading has the source `assumed`.
  package static let assumed = Conditions(
    power: Reading(.external, source: "assumed"), battery: Reading(nil, source: "assumed"),
    lowPowerMode: Reading(false, source: "assumed"), thermal: Reading(.nominal, source: "assumed"),
    network: Reading(.unmetered, source: "assumed"), isIdle: Reading(nil, source: "assumed"),
    gpus: Reading([], source: "assumed"))
}

extension Conditions {
  /// Decodes conditions. What an older version stored has no labels and no word of the owner; the defaults of `init`
  /// take their place.
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      power: try values.decode(Reading<PowerSource>.self, forKey: .power),
      battery: try values.decode(Reading<Int>.self, forKey: .battery),
      lowPowerMode: try values.decode(Reading<Bool>.self, forKey: .lowPowerMode),
      thermal: try values.decode(Reading<ThermalState>.self, forKey: .thermal),
      network: try values.decode(Reading<NetworkState>.self, forKey: .network),
      isIdle: try values.decode(Reading<Bool>.self, forKey: .isIdle),
      gpus: try values.decode(Reading<[GPU]>.self, forKey: .gpus),
      labels: try values.decodeIfPresent(Reading<[String: String]>.self, forKey: .labels)
        ?? Reading([:], source: "worker.yaml"),
      owner: try values.decodeIfPresent(OwnersWord.self, forKey: .owner) ?? .accepting)
  }
}

extension GPU {
  /// Decodes a GPU. What an older version stored has only the name and the memory.
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try values.decodeIfPresent(String.self, forKey: .id) ?? "",
      name: try values.decode(String.self, forKey: .name),
      memoryBytes: try values.decode(Int64.self, forKey: .memoryBytes),
      isPresent: try values.decodeIfPresent(Bool.self, forKey: .isPresent) ?? true)
  }
}
