import BatonBase
import GRPCCore
import Testing

@testable import BatonWire

/// A client gives up a call that is not answered.
@Suite(.timeLimit(.minutes(10))) struct CallDeadlineTests {
  @Test func `a call that is not answered is cancelled, and the error says so`() async {
    let isCancelled = Signal()
    let error = await #expect(throws: RPCError.self) {
      try await CallDeadline.within(.milliseconds(1)) {
        await Signal().wait()
        if Task.isCancelled { isCancelled.raise() }
      }
    }
    #expect(error?.code == .deadlineExceeded)
    await isCancelled.wait()
  }

  @Test func `an answer that comes in time is returned, and so is an error`() async throws {
    #expect(try await CallDeadline.within(.seconds(3600)) { 7 } == 7)
    let error = await #expect(throws: RPCError.self) {
      try await CallDeadline.within(.seconds(3600)) { throw RPCError(code: .notFound, message: "gone") }
    }
    #expect(error?.code == .notFound)
  }

  @Test func `a cancelled caller gets what the call makes of it, not the error of the deadline`() async {
    let hasBegun = Signal()
    let caller = Task {
      try await CallDeadline.within(.seconds(3600)) {
        hasBegun.raise()
        await Signal().wait()
        try Task.checkCancellation()
      }
    }
    await hasBegun.wait()
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }
  }
}
