import BatonModel
import BatonProtobuf
import BatonWire
import ContractRows
import Foundation
import HostileDefinitions
import Testing

@testable import BatonCore

/// The worker checks each definition itself before it runs anything, because its coordinator may have an older version
/// or an old store.
@Suite struct HostileDefinitionTests {
  @Test(.refuses(24), arguments: HostileDefinition.all)
  func `a launch of a hostile definition ends failed with the reason, and its neighbour runs`(
    hostile: HostileDefinition
  ) throws {
    var bench = Bench.welcomed()
    var definition = Baton_V1_DefinitionMessage()
    (definition.id, definition.json) = (7, Data(hostile.json.utf8))
    var wire = Baton_V1_CoordinatorMessage()
    wire.definition = definition
    #expect(bench.hears(try CoordinatorMessage(wire)) == [])
    try expectFailure(bench.hears(.launch(assignment(7))), hostile.field)
    // The ending is sent again after each welcome until the coordinator has stored it. Then the launch is forgotten.
    try expectFailure(bench.reconnects(), hostile.field)
    #expect(bench.hears(.endingCommitted(assignment(7).launch)) == [.forget(assignment(7).launch)])
    #expect(bench.core.isQuiet)

    _ = bench.hears(.definition(DefinitionID(8), Bench.job()))
    guard case .start? = bench.hears(.launch(assignment(8))).first else {
      Issue.record("the neighbour did not start")
      return
    }
  }

  private func assignment(_ id: Int64, _ identifier: String = "com.example.a") -> Assignment {
    Assignment(
      launch: LaunchKey(request: RequestID(id), number: 1), identifier: JobIdentifier(identifier)!, requestNumber: 1,
      definition: DefinitionID(id), priority: .utility,
      trace: TraceContext(
        traceID: TraceID(high: 1, low: 1), spanID: SpanID(2), isSampled: true),
      startedAt: Timestamp(nanoseconds: 0))
  }

  private func expectFailure(_ effects: [WorkerCore.Effect], _ field: String) throws {
    guard case .send(.ended(let ending))? = effects.first, case .failed(let reason) = ending.outcome else {
      Issue.record("\(effects)")
      return
    }
    #expect(effects.count == 1)
    #expect(reason.contains(field.isEmpty ? "64 KiB" : "'\(field)'"), "\(reason)")
    #expect(ending.errorType == "invalidDefinition")
  }

  @Test func `a value that was never on the wire meets the same rules`() throws {
    var bench = Bench.welcomed()
    _ = bench.hears(.definition(DefinitionID(7), Bench.job { $0.requirements.slots = .min }))
    try expectFailure(bench.hears(.launch(assignment(7))), "slots")
  }

  @Test func `a match that would become an option of the command starts nothing`() throws {
    var bench = Bench.welcomed()
    var definition = Definition(pattern: IdentifierPattern("rm.*")!, kind: .processing)
    definition.work = Work(command: ["rm", "${wildcard}"])
    _ = bench.hears(.definition(DefinitionID(7), definition))
    try expectFailure(bench.hears(.launch(assignment(7, "rm.-rf"))), "work.command")
  }
}
