import BatonModel
import Testing

@testable import BatonProcess

@Suite("Programs of the system that hang")
struct SystemCommandTests {
  private static let done = SystemCommand.Answer.output("done")
  private static let refused = SystemCommand.Answer.failed("an earlier run of busy hangs and cannot be killed")

  /// A program that ends only when the test says so, whatever signals it gets.
  private final class Hanging: Sendable {
    private let began = AsyncStream<Void>.makeStream()
    private let ended = AsyncStream<Void>.makeStream()

    func run() async -> SystemCommand.Answer {
      began.continuation.yield()
      // On a task of its own: it does not see the cancellation.
      return await Task.detached { [ended] in
        for await _ in ended.stream { break }
        return SystemCommandTests.done
      }.value
    }
    func untilItRuns() async { for await _ in began.stream { break } }
    func end() { ended.continuation.yield() }
  }

  private static func answer(_ name: String, to program: Hanging) -> Task<SystemCommand.Answer, Never> {
    Task { await SystemCommand.answer(name, within: .seconds(3600), lastPatience: .zero) { await program.run() } }
  }

  @Test("a program is not started again until all its processes that could not be killed have ended")
  func hangingTwice() async throws {
    let programs = [Hanging(), Hanging()]
    let answers = programs.map { Self.answer("busy", to: $0) }
    for program in programs { await program.untilItRuns() }
    for answer in answers {
      answer.cancel()
      #expect(await answer.value == .failed("busy did not end within 1h"))
    }
    let again = { @Sendable in await SystemCommand.answer("busy", within: .seconds(3600)) { Self.done } }
    #expect(await again() == Self.refused)
    programs[0].end()
    for _ in 1...1000 {
      try #require(await again() == Self.refused, "the other process still hangs")
      await Task.yield()
    }
    programs[1].end()
    while await again() != Self.done { await Task.yield() }
  }
}
