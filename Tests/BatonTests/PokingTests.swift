import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Testing

@Suite struct PokingTests {
  private static let news = JobIdentifier(trusted: "com.example.news")

  private static func accepted(_ state: RequestState, joined: Bool, warning: String? = nil) -> SubmissionResult {
    .accepted(
      SubmissionReceipt(
        request: RequestID(9), identifier: news, number: 3, state: state,
        eligibleAt: state == .scheduled ? now + .seconds(720) : now, replaced: joined), traceID: "4b4b",
      warning: warning)
  }

  @Test(.contract(41.1)) func `a poke is one submission, of priority 5 unless somebody says 10`() async {
    let world = World()
    _ = await world.baton("poke", "com.example.news", "--payload", #"{"since": 42}"#)
    _ = await world.baton("poke", "com.example.news", "--priority", "10", "--id", "delivery-42")
    #expect(
      world.coordinator.orders == [
        SubmissionOrder(id: "id-1", identifier: Self.news, payload: Array(#"{"since": 42}"#.utf8), poke: .considerate),
        SubmissionOrder(id: "delivery-42", identifier: Self.news, poke: .immediate),
      ])
    #expect(world.coordinator.calls == Array(repeating: "submit com.example.news by ana", count: 2))
  }

  @Test(arguments: [
    ("poke-joined", true, RequestState.scheduled, [String]()), ("poke-joined-json", true, .scheduled, ["-o", "json"]),
    ("poke-new", false, .ready, []), ("poke-new-json", false, .ready, ["-o", "jsonl"]),
  ])
  func `it says whether it joined a request that waited, and when that may start`(
    name: String, joined: Bool, state: RequestState, options: [String]
  ) async throws {
    let world = World { $0.submissions = [Self.accepted(state, joined: joined)] }
    let run = await world.baton(["poke", "com.example.news"] + options)
    #expect(run.status == 0)
    try Golden.expect(run.transcript, is: name)
  }

  @Test(.contract(5.1), arguments: Refusal.Kind.allCases)
  func `a refused poke has the status of a refused submission`(refusal: Refusal.Kind) async {
    func run(_ command: String) async -> CommandRun {
      let world = World { $0.submissions = [.refused(code: refusal.rawValue, message: "no; do this")] }
      return await world.baton(command, "com.example.news")
    }
    let (poke, submit) = (await run("poke"), await run("submit"))
    #expect(poke.status == refusal.exitStatus)
    #expect(
      [poke.status.description, poke.output, poke.error] == [submit.status.description, submit.output, submit.error])
  }

  @Test func `the same id is sent again after a lost connection`() async {
    var world = World { $0.errors = [CoordinatorUnreachable("reset")] }
    world.elapsing = [.milliseconds(500)]
    let run = await world.baton("poke", "com.example.news", "--id", "delivery-42")
    #expect(run.status == 0)
    #expect(world.coordinator.orders.map(\.id) == ["delivery-42", "delivery-42"])
  }

  @Test func `poke --wait follows the request to its end`() async {
    let run = await World().baton("poke", "com.example.news", "--wait")
    #expect(run.status == 0)
    #expect(run.output == "com.example.news, request 1: ready; it made a new request\n")
    #expect(run.error.hasSuffix("com.example.news, request 1: succeeded\n"))
  }

  @Test func `a warning is told beside the answer`() async {
    let world = World { $0.submissions = [Self.accepted(.ready, joined: false, warning: "no known host could run it")] }
    let run = await world.baton("poke", "com.example.news")
    #expect(run.error == "warning: com.example.news: no known host could run it\n")
  }
}
