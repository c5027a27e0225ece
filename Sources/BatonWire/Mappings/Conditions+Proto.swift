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
