import BatonModel
import BatonProtobuf
import BatonWire
import SwiftProtobuf
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Workers and coordinators of the previous version understand this version, and this version understands them.
@Suite struct OlderPeerTests {
  private let launch: [UInt8] = [0x0A, 0x04, 0x08, 0x09, 0x10, 0x01]  // field 1: request 9, launch 1

  private func worker(_ bytes: [UInt8]) throws -> WorkerMessage {
    try WorkerMessage(Baton_V1_WorkerMessage(serializedBytes: bytes))
  }

  private func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number << 3 | 2, UInt8(bytes.count)] + bytes }

  /// The bytes are those that version 0.1.0 sends, so that a field whose number or type has changed is noticed.
  @Test func `what a worker of version 0.1.0 says is understood`() throws {
    let capabilities: [UInt8] = [0x08, 4] + field(2, Array("processing".utf8)) + [0x20, 1]
    let hello =
      field(1, Array("anna".utf8)) + field(2, Array("i1".utf8)) + field(3, Array("0.1.0".utf8)) + field(4, capabilities)
      + field(5, []) + field(6, launch + [0x12, 1, 2])
    guard case .hello(let said) = try worker(field(1, hello)) else {
      Issue.record("no hello")
      return
    }
    #expect(said.host == HostName("anna") && said.incarnation == Incarnation("i1") && said.version == "0.1.0")
    #expect(said.capabilities.slots == 4 && said.capabilities.kinds == [.processing] && said.capabilities.runsCommands)
    #expect(said.running == [RunningLaunch(launch: LaunchKey(request: RequestID(9), number: 1), gpus: [2])])
    #expect(said.receipts == [])
    #expect(try worker([0x10, 7]) == .heartbeat(number: 7))
    #expect(try worker(field(11, [])) == .draining)
    let key = LaunchKey(request: RequestID(9), number: 1)
    #expect(
      try worker(field(6, launch + [0x10, 3] + field(3, [5]) + [0x20, 40]))
        == .checkpoint(Checkpoint(launch: key, batch: 3, cursor: [5], completedUnits: 40)))
    #expect(
      try worker(field(10, launch + field(2, Array("finished".utf8)) + [0x28, 1]))
        == .ended(Ending(launch: key, outcome: .finished)))
  }

  /// A worker of version 0.1.0 reads only the messages of a frame, and only kinds that it knows.
  @Test func `a worker of version 0.1.0 understands every message that it is sent`() throws {
    var draw = Draw(seed: 5)
    let known: Set<Int> = Set(1...13)
    // The answer to a submission of a launch, which such a worker does not make, is of kind 14.
    for kind in Draw.coordinatorKinds where kind != 14 {
      for frame in try Framing.frames([draw.coordinatorMessage(kind), .receipt(draw.receipt())]) {
        for message in frame.messages {
          let bytes: [UInt8] = try message.serializedBytes()
          // The key of the only field: its number, and how it is encoded.
          #expect(bytes.first.map { known.contains(Int($0 >> 3)) } == true, "kind \(kind)")
        }
      }
    }
  }

  @Test func `what a coordinator of version 0.1.0 says has no receipt, and is understood`() throws {
    let frame = field(1, [0x08, 0x80, 0x94, 0xEB, 0xDC, 0x03]) + field(1, field(8, launch + [0x10, 3]))
    let messages = try Framing.messages(Baton_V1_CoordinatorFrame(serializedBytes: frame))
    #expect(
      messages == [
        .welcome(leaseTerm: .seconds(1)), .committed(LaunchKey(request: RequestID(9), number: 1), batch: 3),
      ])
  }
}
