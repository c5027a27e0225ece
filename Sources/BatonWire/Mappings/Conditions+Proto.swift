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
      $0.gpuList = (gpus.value ?? []).map { gpu in
        .with {
          $0.name = gpu.name
          $0.memoryBytes = gpu.memoryBytes
        }
      }
      $0.isPausedByOwner = isPausedByOwner
    }
  }

  /// A value that this version does not know is unknown, not an error: a newer worker may report more.
  package init(_ proto: Baton_V1_Conditions) {
    let list = proto.gpuList.map { GPU(name: $0.name, memoryBytes: $0.memoryBytes) }
    self.init(
      power: Reading(proto.power, PowerSource.init), battery: Reading(proto.battery) { Int($0) },
      lowPowerMode: Reading(proto.lowPowerMode) { Bool($0) },
      thermal: Reading(proto.thermal) { name in ThermalState.allCases.first { $0.name == name } },
      network: Reading(proto.network, NetworkState.init), isIdle: Reading(proto.isIdle) { Bool($0) },
      gpus: Reading(proto.gpus) { _ in list }, isPausedByOwner: proto.isPausedByOwner)
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

  /// What is not understood is an error: a simulation that is half done would mislead.
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
    }
  }

  init(_ proto: Baton_V1_Reading, _ parse: (String) -> Value?) {
    self.init(proto.hasValue ? parse(proto.value) : nil, source: proto.source, raw: proto.raw)
  }
}
