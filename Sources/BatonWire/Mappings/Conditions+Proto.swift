package import BatonModel
package import BatonProtobuf
import SwiftProtobuf

extension Conditions {
  package var proto: Baton_V1_Conditions {
    .with {
      $0.power = power.proto(\.rawValue)
      $0.battery = battery.proto { String($0) }
      $0.lowPowerMode = lowPowerMode.proto { String($0) }
      $0.thermal = thermal.proto(\.name)
      $0.network = network.proto(\.rawValue)
      $0.isIdle = isIdle.proto { String($0) }
      $0.gpus = gpus.proto { String($0.count) }
      $0.gpuList = (gpus.value ?? []).map(\.proto)
      $0.labels = labels.proto { String($0.count) }
      $0.labelValues = labels.value ?? [:]
      $0.owner = owner.proto
      $0.isPausedByOwner = $0.owner.hasPausedBy
    }
  }

  /// A value that this version does not know becomes an unknown condition and is not an error, because a newer worker
  /// may report more.
  package init(_ proto: Baton_V1_Conditions) {
    let (gpus, labels) = (proto.gpuList.map(GPU.init), proto.labelValues)
    self.init(
      power: Reading(proto.power, PowerSource.init), battery: Reading(proto.battery) { Int($0) },
      lowPowerMode: Reading(proto.lowPowerMode) { Bool($0) },
      thermal: Reading(proto.thermal) { name in ThermalState.allCases.first { $0.name == name } },
      network: Reading(proto.network, NetworkState.init), isIdle: Reading(proto.isIdle) { Bool($0) },
      gpus: Reading(proto.gpus) { _ in gpus }, labels: Reading(proto.labels) { _ in labels },
      owner: proto.hasOwner ? OwnersWord(proto.owner) : proto.isPausedByOwner ? .paused(by: "", until: nil) : .accepting
    )
  }
}

extension GPU {
  fileprivate var proto: Baton_V1_GPU {
    .with {
      $0.id = id
      $0.name = name
      $0.memoryBytes = memoryBytes
      $0.isGone = !isPresent
    }
  }

  fileprivate init(_ proto: Baton_V1_GPU) {
    self.init(id: proto.id, name: proto.name, memoryBytes: proto.memoryBytes, isPresent: !proto.isGone)
  }
}

extension OwnersWord {
  fileprivate var proto: Baton_V1_OwnersWord {
    .with {
      switch self {
      case .accepting: break
      case .paused(let by, let until):
        $0.pausedBy = by
        if let until { $0.until = until.nanoseconds }
      case .outsideHours(let until):
        $0.isOutsideHours = true
        $0.until = until.nanoseconds
      }
    }
  }

  fileprivate init(_ proto: Baton_V1_OwnersWord) {
    let until = proto.hasUntil ? Timestamp(nanoseconds: proto.until) : nil
    if proto.hasPausedBy {
      self = .paused(by: proto.pausedBy, until: until)
    } else if proto.isOutsideHours {
      self = .outsideHours(until: until ?? Timestamp(nanoseconds: 0))
    } else {
      self = .accepting
    }
  }
}

extension ConditionOverrides {
  package func proto(lasting: Duration) -> Baton_V1_SimulatedConditions {
    .with {
      $0.lasting = lasting.nanoseconds
      if let power { $0.overrides.power = power.rawValue }
      if let battery { $0.overrides.battery = Int32(battery) }
      if let lowPowerMode { $0.overrides.lowPowerMode = lowPowerMode }
      if let thermal { $0.overrides.thermal = thermal.name }
      if let network { $0.overrides.network = network.rawValue }
      if let isIdle { $0.overrides.isIdle = isIdle }
    }
  }

  /// A value that this version does not know is an error, because a simulation of only some of the conditions would
  /// mislead.
  package init(_ proto: Baton_V1_ConditionOverrides) throws {
    self.init(
      power: try proto.hasPower ? Self.known(PowerSource(rawValue: proto.power), proto.power) : nil,
      battery: try proto.hasBattery ? Self.percent(proto.battery) : nil,
      lowPowerMode: proto.hasLowPowerMode ? proto.lowPowerMode : nil,
      thermal: try proto.hasThermal ? Self.known(ThermalState(name: proto.thermal), proto.thermal) : nil,
      network: try proto.hasNetwork ? Self.known(NetworkState(rawValue: proto.network), proto.network) : nil,
      isIdle: proto.hasIsIdle ? proto.isIdle : nil)
  }

  private static func known<Value>(_ value: Value?, _ text: String) throws -> Value {
    guard let value else { throw WireError("'\(text)' is not a condition that can be simulated") }
    return value
  }

  private static func percent(_ value: Int32) throws -> Int {
    guard (0...100).contains(value) else { throw WireError("a battery's charge is 0 to 100 per cent, not \(value)") }
    return Int(value)
  }
}

extension Reading {
  func proto(_ text: (Value) -> String) -> Baton_V1_Reading {
    .with {
      if let value { $0.value = text(value) }
      $0.source = source
      $0.raw = raw
      if let age { $0.age = age.nanoseconds }
    }
  }

  /// The reading with its value parsed from text. A value that `parse` does not accept is unknown.
  init(_ proto: Baton_V1_Reading, _ parse: (String) -> Value?) {
    self.init(
      proto.hasValue ? parse(proto.value) : nil, source: proto.source, raw: proto.raw,
      age: proto.hasAge ? .nanoseconds(proto.age) : nil)
  }
}
