import BatonModel
import BatonProtobuf
import ContractRows
import SwiftProtobuf
import Testing

@testable import BatonWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Results are JSON of a limited size wherever they arrive.
@Suite struct ResultLimitTests {
  private func checkpoint(_ result: [UInt8]?) throws -> WorkerMessage {
    var message = Baton_V1_WorkerMessage()
    message.checkpoint = .with {
      $0.launch = .with { ($0.request, $0.number) = (9, 1) }
      if let result { $0.result = Data(result) }
    }
    return try WorkerMessage(message)
  }

  @Test(.refuses(25), arguments: ["", "no", "{", "[1] 2", "\"\u{1}\""])
  func `what a worker calls a result is JSON`(text: String) {
    let error = #expect(throws: WireError.self) { try checkpoint(Array(text.utf8)) }
    #expect(error?.message == "a result that is not JSON")
  }

  @Test(.refuses(25)) func `it is taken at its limit and refused over it`() throws {
    let most = [UInt8](repeating: UInt8(ascii: "7"), count: WireLimits.result.most)
    guard case .checkpoint(let taken) = try checkpoint(most) else { return }
    #expect(taken.result?.json == most)
    let error = #expect(throws: WireError.self) { try checkpoint(most + [0x30]) }
    #expect(error?.message.contains("65537") == true, "\(error?.message ?? "")")
  }

  @Test func `a worker of an earlier version gives none`() throws {
    guard case .checkpoint(let taken) = try checkpoint(nil) else { return }
    #expect(taken.result == nil)
  }

  @Test(arguments: [
    ("running", 1, "1"), ("what", 1, "1"), ("succeeded", 0, "1"), ("succeeded", -1, "1"), ("succeeded", 1, "no"),
  ])
  func `an input that no coordinator sends is refused`(state: String, number: Int64, result: String) throws {
    var assignment = Draw(seed: 1).plain.proto
    assignment.inputs = [
      .with {
        ($0.identifier, $0.request, $0.state, $0.result) = ("com.example.fetch", number, state, Data(result.utf8))
      }
    ]
    #expect(throws: WireError.self) { try Assignment(assignment) }
  }
}

extension Draw {
  /// A launch whose request has waited for none.
  fileprivate var plain: Assignment {
    var draw = self
    var assignment = draw.assignment()
    assignment.inputs = []
    return assignment
  }
}
