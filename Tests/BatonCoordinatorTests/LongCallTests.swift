import GRPCCore
import Testing

@testable import BatonCoordinator

/// Moves and backups, which a coordinator does while their caller looks on.
@Suite(.timeLimit(.minutes(5))) struct LongCallTests {
  /// Work without an end, unless its task is cancelled.
  private static func endless() async throws {
    for await _ in AsyncStream<Never>.makeStream().stream {}
    try Task.checkCancellation()
  }

  @Test func `long work ends when its caller has gone, also while there is nothing to tell`() async {
    await #expect(throws: CancellationError.self) {
      try await withServerContextRPCCancellationHandle { caller in
        try await OperatorsService.whileCalled {
          caller.cancel()
          try await Self.endless()
        } telling: {
        }
      }
    }
  }

  @Test func `long work ends when its caller cannot be told any more`() async {
    struct Deaf: Error {}
    await #expect(throws: Deaf.self) {
      try await OperatorsService.whileCalled {
        try await Self.endless()
      } telling: {
        throw Deaf()
      }
    }
  }

  @Test func `the caller gets what the work returns`() async throws {
    let (told, source) = AsyncStream.makeStream(of: Int.self)
    var heard: [Int] = []
    let result = try await OperatorsService.whileCalled {
      for number in 1...3 { source.yield(number) }
      source.finish()
      return "done"
    } telling: {
      for await number in told { heard.append(number) }
    }
    #expect(result == "done" && heard == [1, 2, 3])
  }
}
