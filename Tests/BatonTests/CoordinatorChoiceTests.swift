import BatonCoordinator
import BatonModel
import BatonWire
import Testing

/// Commands that know several coordinators.
@Suite struct CoordinatorChoiceTests {
  private static let addresses = (1...3).map { HostPort(host: "127.0.0.1", port: 7000 + $0) }
  private static let down = CoordinatorUnreachable("nothing listens there")

  /// Runs a command that pauses the fleet at the coordinators of `addresses`.
  /// - Parameter prepare: makes the errors of each coordinator's next calls. A coordinator that is not there has none.
  private func pause(_ errors: [[any Error]?]) async throws -> [[String]] {
    let coordinators = errors.map { errors in FakeCoordinator([]) { $0.errors = errors ?? [] } }
    var asked: [[String]] { coordinators.map(\.calls) }
    do {
      try await CoordinatorChoice(Array(Self.addresses.prefix(errors.count))).run { address, isOnly in
        let index = address.port - 7001
        guard errors[index] != nil else { throw Self.down }
        try await CoordinatorChoice.begin(at: coordinators[index], isOnly: isOnly) { try await $0.setPaused(true) }
      }
    } catch {
      throw Asked(error: error, calls: asked)
    }
    return asked
  }

  private struct Asked: Error {
    var error: any Error
    var calls: [[String]]
  }

  @Test func `the first coordinator that answers is asked, and no other one`() async throws {
    #expect(try await pause([[], []]) == [["coordinators", "paused true"], []])
    #expect(try await pause([nil, [], []]) == [[], ["coordinators", "paused true"], []])
    let unavailable = OperatorError.refused(.unavailable("the store is out of reach"))
    #expect(try await pause([[unavailable], []]) == [["coordinators"], ["coordinators", "paused true"]])
    // It answers, although not this question.
    let old = OperatorError.invalid("unknown method")
    #expect(try await pause([[old], []]) == [["coordinators", "paused true"], []])
    #expect(try await pause([[]]) == [["paused true"]])
  }

  @Test func `a command that has begun is not begun again elsewhere`() async throws {
    // `setPaused` does not take the first error, which is that of `coordinators`, but the second one.
    let nothing = OperatorError.invalid("unknown method")
    for lost: any Error in [Self.down, OperatorError.refused(.unavailable("the disk is full"))] {
      let asked = await #expect(throws: Asked.self) { try await pause([[nothing, lost], []]) }
      #expect(asked?.calls == [["coordinators", "paused true"], []])
      #expect("\(asked?.error ?? nothing)" == "\(lost)")
    }
  }

  @Test func `if no coordinator answers, the message names each of them and why`() async throws {
    let unavailable = OperatorError.refused(.unavailable("the store is out of reach"))
    let refused = CoordinatorUnreachable("it does not accept the token", isNotPermitted: true)
    let asked = await #expect(throws: Asked.self) { try await pause([nil, [unavailable], [refused]]) }
    let error = try #require(asked?.error as? CoordinatorUnreachable)
    #expect(!error.isNotPermitted)
    #expect(
      error.message
        == """
        none of the 3 coordinators answers: 127.0.0.1:7001: nothing listens there; 127.0.0.1:7002: the store is out of \
        reach; 127.0.0.1:7003: it does not accept the token
        """)
    let denied = await #expect(throws: Asked.self) { try await pause([[refused], [refused]]) }
    #expect((denied?.error as? CoordinatorUnreachable)?.isNotPermitted == true)
    let only = await #expect(throws: Asked.self) { try await pause([nil]) }
    #expect((only?.error as? CoordinatorUnreachable)?.message == Self.down.message)
  }
}
