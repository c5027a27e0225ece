/// One fact about a host: its value if it is known, who says so, and the raw reading.
package struct Reading<Value: Hashable & Sendable & Codable>: Hashable, Sendable, Codable {
  /// Nil means unknown.
  package var value: Value?
  /// Where it comes from, such as `sysfs`, `logind`, `assumed` or `simulated`.
  package var source: String
  /// What was read, for people; may be empty.
  package var raw: String
  /// How long it had been so when it was reported; nil where nobody says.
  package var age: Duration?

  package init(_ value: Value?, source: String, raw: String = "", age: Duration? = nil) {
    self.value = value
    self.source = source
    self.raw = raw
    self.age = age
  }

  fileprivate mutating func grow(older duration: Duration?) {
    age = age.flatMap { age in duration.map { age + $0 } }
  }

  /// Says the same, by the same source: what was read may be another number.
  package func agrees(with other: Reading) -> Bool { value == other.value && source == other.source }
}

package enum PowerSource: String, Hashable, Sendable, Codable, CaseIterable { case external, battery }

/// Apple's four states, `ProcessInfo.ThermalState`.
package enum ThermalState: Int, Hashable, Sendable, Codable, CaseIterable, Comparable {
  case nominal, fair, serious, critical

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

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

package enum NetworkState: String, Hashable, Sendable, Codable, CaseIterable { case unavailable, metered, unmetered }

package struct GPU: Hashable, Sendable, Codable {
  /// What its driver calls it, such as `GPU-8f2…` (NVIDIA's UUID) or `/dev/dri/renderD128`; empty where nobody says.
  package var id: String
  package var name: String
  /// 0 where it is not known, or shared with the host.
  package var memoryBytes: Int64
  /// False once it is no longer there. It keeps its place in the list: launches hold GPUs by their place.
  package var isPresent: Bool

  package init(id: String = "", name: String, memoryBytes: Int64, isPresent: Bool = true) {
    self.id = id
    self.name = name
    self.memoryBytes = memoryBytes
    self.isPresent = isPresent
  }
}

/// What the host's owner lets it do now (contract, row 26). Times are the host's wall clock, for people.
package enum OwnersWord: Hashable, Sendable, Codable {
  case accepting
  /// `baton-worker pause`: until `resume`, or until then.
  case paused(by: String, until: Timestamp?)
  /// Outside the `hours` of the host's worker.yaml.
  case outsideHours(until: Timestamp)
}

/// What a worker reports of its host.
package struct Conditions: Hashable, Sendable, Codable {
  package var power: Reading<PowerSource>
  /// Charge of the battery in per cent, 0 to 100; unknown also where there is none.
  package var battery: Reading<Int>
  package var lowPowerMode: Reading<Bool>
  package var thermal: Reading<ThermalState>
  package var network: Reading<NetworkState>
  package var isIdle: Reading<Bool>
  package var gpus: Reading<[GPU]>
  /// What the owner says of the host in words that jobs may require: from `labels` and the facts command.
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

  /// Says the same, by the same sources, whatever the numbers read and however long it has been so.
  package func agrees(with other: Conditions) -> Bool {
    power.agrees(with: other.power) && battery.agrees(with: other.battery)
      && lowPowerMode.agrees(with: other.lowPowerMode) && thermal.agrees(with: other.thermal)
      && network.agrees(with: other.network) && isIdle.agrees(with: other.isIdle) && gpus.agrees(with: other.gpus)
      && labels.agrees(with: other.labels) && owner == other.owner
  }

  /// The same, told later: every age has grown by `duration`, or is no longer known.
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

  /// What a worker reports while it has no probe: a host on external power and a network, without a GPU, whose
  /// idleness nobody knows; each value says that it was assumed.
  package static let assumed = Conditions(
    power: Reading(.external, source: "assumed"), battery: Reading(nil, source: "assumed"),
    lowPowerMode: Reading(false, source: "assumed"), thermal: Reading(.nominal, source: "assumed"),
    network: Reading(.unmetered, source: "assumed"), isIdle: Reading(nil, source: "assumed"),
    gpus: Reading([], source: "assumed"))
}

extension Conditions {
  /// What an older version stored knows nothing of labels and of the owner's word.
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
  /// What an older version stored has a name and memory only.
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try values.decodeIfPresent(String.self, forKey: .id) ?? "",
      name: try values.decode(String.self, forKey: .name),
      memoryBytes: try values.decode(Int64.self, forKey: .memoryBytes),
      isPresent: try values.decodeIfPresent(Bool.self, forKey: .isPresent) ?? true)
  }
}
