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

@Suite struct MappingTests {
  static let draws = 300

  @Test(arguments: Draw.workerKinds)
  func `what a worker says arrives as it was said`(kind: Int) throws {
    for seed in 0..<UInt64(Self.draws) {
      var draw = Draw(seed: seed)
      let message = draw.workerMessage(kind)
      let bytes: [UInt8] = try message.proto.serializedBytes()
      #expect(try WorkerMessage(Baton_V1_WorkerMessage(serializedBytes: bytes)) == message, "seed \(seed)")
    }
  }

  @Test(arguments: Draw.coordinatorKinds)
  func `what the coordinator says arrives as it was said`(kind: Int) throws {
    for seed in 0..<UInt64(Self.draws) {
      var draw = Draw(seed: seed)
      let message = draw.coordinatorMessage(kind)
      let bytes: [UInt8] = try #require(try Framing.frames([message]).first).serializedBytes()
      #expect(try Framing.messages(Baton_V1_CoordinatorFrame(serializedBytes: bytes)) == [message], "seed \(seed)")
    }
  }

  @Test func `equal definitions have equal bytes`() throws {
    for seed in 0..<UInt64(Self.draws) {
      var (first, second) = (Draw(seed: seed), Draw(seed: seed))
      #expect(try first.definition().json() == second.definition().json())
    }
  }

  @Test func `frames keep every message and its order, and stay small`() throws {
    var draw = Draw(seed: 1)
    var messages: [WorkerMessage] = (0..<5000).map { _ in
      let kind = draw.number(Draw.workerKinds)
      return draw.workerMessage(kind)
    }
    for count in [0, 1 << 20, 700_000, 700_000] {
      messages.append(.output(OutputChunk(launch: draw.launch(), bytes: draw.bytes(count))))
    }
    let frames = Framing.frames(messages)
    #expect(try frames.flatMap(\.messages).map(WorkerMessage.init) == messages)
    #expect(frames.count > 4)
    for frame in frames {
      let bytes: [UInt8] = try frame.serializedBytes()
      #expect(bytes.count < 4 << 20)
      #expect(!frame.messages.isEmpty)
    }
    #expect(Framing.frames([WorkerMessage]()).isEmpty)
    #expect(try Framing.frames([CoordinatorMessage]()).isEmpty)
  }

  @Test func `a receipt stands beside the messages of its frame, where an older worker does not look`() throws {
    let sent = [CoordinatorMessage.heartbeatAnswered(number: 1), .receipt(Receipt(store: "s", tenure: 1, sequence: 7))]
    let frames = try Framing.frames(sent)
    #expect(try frames.flatMap(\.messages).map(CoordinatorMessage.init) == [sent[0]])
    #expect(try frames.flatMap(Framing.messages) == [sent[1], sent[0]])
  }

  @Test(arguments: [
    Baton_V1_WorkerMessage(), .with { $0.hello = Baton_V1_Hello() },
    .with { $0.hello = .with { $0.host = "h" } },
    .with {
      $0.hello = .with {
        ($0.host, $0.incarnation) = (String(repeating: "h", count: 256), "i")
      }
    },
    .with {
      $0.hello = .with {
        ($0.host, $0.incarnation) = ("h", "i")
        $0.capabilities.handlers = ["com..example"]
      }
    },
    .with { $0.ended = .with { $0.outcome = "gone" } },
    .with {
      $0.ended = .with { ($0.outcome, $0.text) = ("expired", "because") }
    },
    .with { $0.expiring = .with { $0.code = "" } },
  ])
  func `a worker's message that makes no sense is an error`(proto: Baton_V1_WorkerMessage) {
    #expect(throws: WireError.self) { try WorkerMessage(proto).heldToLimits() }
  }

  @Test func `a coordinator's message that makes no sense is an error`() throws {
    var draw = Draw(seed: 3)
    let good = try #require(try Framing.frames([CoordinatorMessage.launch(draw.assignment())]).first?.messages.first)
    let broken: [(inout Baton_V1_Assignment) -> Void] = [
      { $0.traceparent = "00-0-0-0" }, { $0.priority = 3 }, { $0.identifier = "a b" }, { $0.pendingExpiry = "soon" },
    ]
    #expect(throws: Never.self) { try CoordinatorMessage(good) }
    #expect(throws: WireError.self) { try CoordinatorMessage(Baton_V1_CoordinatorMessage()) }
    for change in broken {
      var message = good
      change(&message.launch)
      #expect(throws: WireError.self) { try CoordinatorMessage(message) }
    }
    // An invalid definition ends the launches that name it, and not the connection.
    let definition = try CoordinatorMessage(.with { $0.definition = .with { $0.json = Data("{}".utf8) } })
    #expect(definition == .unusableDefinition(DefinitionID(0), DefinitionProblem("identifier", "is missing")))
  }

  @Test func `a value of a newer version that this version does not know becomes unknown`() {
    var proto = Conditions.assumed.proto
    (proto.power.value, proto.thermal.value, proto.network.value) = ("solar", "glowing", "entangled")
    (proto.battery.value, proto.isIdle.value, proto.lowPowerMode.value) = ("full", "maybe", "2")
    let conditions = Conditions(proto)
    #expect(conditions.power.value == nil && conditions.thermal.value == nil && conditions.network.value == nil)
    #expect(conditions.battery.value == nil && conditions.isIdle.value == nil)
    #expect(conditions.lowPowerMode.value == nil)
    #expect(conditions.power.source == "assumed")
  }

  @Test func `noise is an error or a message, and never more than that`() throws {
    var draw = Draw(seed: 5)
    for _ in 0..<3000 {
      let kind = draw.number(Draw.workerKinds)
      var bytes: [UInt8] = try draw.workerMessage(kind).proto.serializedBytes()
      for _ in 0..<draw.number(1...4) where !bytes.isEmpty {
        bytes[draw.number(0...bytes.count - 1)] = UInt8(truncatingIfNeeded: draw.next())
      }
      _ = try? WorkerMessage(Baton_V1_WorkerMessage(serializedBytes: bytes))
    }
  }
}
