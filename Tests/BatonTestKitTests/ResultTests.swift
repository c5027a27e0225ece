import BatonHandler
import BatonModel
import BatonTestKit
import Foundation
import Testing

/// The results of handlers (`JobTask.setResult`), and what they get of others (`JobTask.inputs`).
@Suite struct ResultTests {
  private struct Imported: Codable, Hashable {
    var rows: Int
    var folder: String
  }

  private static func importing(_ batches: Int) -> Handler {
    { task in
      var rows = 0
      for try await batch in task.batches(of: Array(0..<batches), size: 1) { rows += batch.count }
      try task.setResult(Imported(rows: batches, folder: "/data"))
    }
  }

  @Test func `a result is saved when the handler returns`() async throws {
    let request = TestRequest("com.example.import")
    try await request.launch(Self.importing(3))
    #expect(try request.result(as: Imported.self) == Imported(rows: 3, folder: "/data"))
    #expect(request.checkpoints.count == 3, "a result alone is no batch")
  }

  @Test func `a result is saved with the next checkpoint, and kept over launches`() async throws {
    let request = TestRequest("com.example.import")
    let handler: Handler = { task in
      if task.launch == 1 { try task.setResult(json: Array("[1]".utf8)) }
      for page in (try task.lastCheckpoint(as: Int.self) ?? 0)..<3 {
        try Task.checkCancellation()
        try await task.checkpoint(page + 1)
      }
    }
    try await request.launch(handler, interruptedBy: .expiry(.draining, .after(batches: 1)))
    #expect(try request.result(as: [Int].self) == nil, "the request has not succeeded yet")
    try await request.launch(handler)
    #expect(try request.result(as: [Int].self) == [1])
  }

  @Test func `a handler that throws saves no result`() async throws {
    let request = TestRequest("com.example.import", retries: 1)
    try await request.launch { task in
      try task.setResult(1)
      throw CancellationError()
    }
    try await request.launch { _ in }
    #expect(request.completion == .succeeded)
    #expect(try request.result(as: Int.self) == nil)
  }

  @Test func `every interruption leaves the same result`() async throws {
    try await TestRequest("com.example.import").checkEveryInterruption { request in
      try await request.complete(Self.importing(3))
      return try request.result(as: Imported.self)
    }
  }

  @Test func `what is no result is refused, and changes nothing`() async throws {
    let request = TestRequest("com.example.import")
    try await request.launch { task in
      try task.setResult(1)
      let large = #expect(throws: HandlerError.self) {
        try task.setResult(json: [UInt8](repeating: UInt8(ascii: "7"), count: 65_537))
      }
      #expect(large?.code == .badResult && large?.message.contains("65537 bytes") == true)
      #expect(throws: HandlerError.self) { try task.setResult(json: Array("no".utf8)) }
    }
    #expect(try request.result(as: Int.self) == 1)
  }

  @Test func `a handler reads what those before it have given`() async throws {
    let inputs = [
      JobInput(
        identifier: JobIdentifier("com.example.fetch")!, request: 3,
        resultBytes: Array(#"{"rows":2,"folder":"a"}"#.utf8)),
      JobInput(
        identifier: JobIdentifier("com.example.work")!, shardResults: [2: Array("20".utf8), 0: Array("0".utf8)]),
      JobInput(identifier: JobIdentifier("com.example.check")!, end: .failed),
    ]
    try await TestRequest("com.example.report", inputs: inputs).launch { task in
      #expect(task.inputs == inputs)
      try #expect(task.inputs[0].result(as: Imported.self)?.rows == 2)
      try #expect(task.inputs[1].shardResults(as: Int.self).map(\.result) == [0, 20])
      try #expect(task.inputs[2].result(as: Int.self) == nil)
      #expect(throws: DecodingError.self) { try task.inputs[0].result(as: Int.self) }
    }
    let input = JobInput(identifier: JobIdentifier("com.example.fetch")!, resultBytes: Array("no".utf8))
    let bad = TestRequest("com.example.report", inputs: [input])
    await #expect(throws: TestKitError.self) { try await bad.launch { _ in } }
  }
}
