import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Synchronization
import Testing

@Suite struct SubmittingTests {
  private static func accepted(warning: String? = nil, state: RequestState = .ready) -> SubmissionResult {
    .accepted(
      SubmissionReceipt(
        request: RequestID(9), identifier: JobIdentifier(trusted: "com.example.report"), number: 3, state: state,
        eligibleAt: state == .scheduled ? now + .seconds(900) : now, replaced: state == .scheduled), traceID: "4b4b",
      warning: warning)
  }

  @Test(.contract(12.1)) func `everything that was asked for is submitted, in the name of who asked`() async {
    let world = World()
    let run = await world.baton(
      "submit", "com.example.report", "--payload", #"{"a": [1, null]}"#, "--earliest", "15m", "--priority", "utility")
    #expect(run.status == 0)
    #expect(
      world.coordinator.orders == [
        SubmissionOrder(
          id: "id-1", identifier: JobIdentifier(trusted: "com.example.report"),
          payload: Array(#"{"a": [1, null]}"#.utf8),
          earliestBeginDate: .afterSubmission(.seconds(900)), priority: .utility)
      ])
    #expect(world.coordinator.calls == ["submit com.example.report by ana"])
  }

  @Test func `a payload may come from a file, and has a limit`() async throws {
    try await withTemporaryFolder { folder in
      try write("[42]", to: folder + "/payload.json")
      let world = World()
      _ = await world.baton("submit", "com.example.report", "--payload", "@\(folder)/payload.json")
      #expect(world.coordinator.orders.first?.payload == Array("[42]".utf8))
      try write("\"" + String(repeating: "x", count: 70_000) + "\"", to: folder + "/payload.json")
      let run = await world.baton("submit", "com.example.report", "--payload", "@\(folder)/payload.json")
      #expect(run.status == 64)
      #expect(run.error.contains("70002 bytes and may have 65536"))
    }
  }

  @Test func `a submission has the id that a person gives it`() async throws {
    let world = World([.example(1, "com.example.report", .ready)])
    #expect(await world.baton("submit", "com.example.report", "--id", "nightly-1").status == 0)
    #expect(world.coordinator.orders.map(\.id) == ["nightly-1"])
    for wrong in ["", "a\u{1b}b", String(repeating: "i", count: 65)] {
      #expect(await world.baton("submit", "com.example.report", "--id", wrong).status == 64)
    }
    #expect(await world.baton("submit", "-f", "job.yaml", "--id", "one").status == 64)
    #expect(world.coordinator.orders.count == 1)
  }

  @Test(arguments: [("submit", [String]()), ("submit-json", ["-o", "json"])])
  func `an accepted submission goes to standard output, its warning to standard error`(
    name: String, options: [String]
  ) async throws {
    let world = World { $0.submissions = [Self.accepted(warning: "no known host could run it now", state: .scheduled)] }
    let run = await world.baton(["submit", "com.example.report"] + options)
    #expect(run.status == 0)
    try Golden.expect(run.transcript, is: name)
  }

  @Test(
    .contract(5.1),
    arguments: [
      ("immediateRunIneligible", 4), ("tooManyPendingTaskRequests", 4), ("unavailable", 75), ("notPermitted", 77),
    ])
  func `a refusal has its status and its code`(code: String, status: Int32) async {
    let world = World { $0.submissions = [.refused(code: code, message: "no; do this")] }
    let run = await world.baton("submit", "com.example.report")
    #expect(run.status == status)
    #expect(run.output.isEmpty)
    #expect(run.error == "error: com.example.report: \(code): no; do this\n")
  }

  @Test(.contract(9.2)) func `in a launch it goes through the launch's socket, without a coordinator`() async {
    var world = World()
    world.variables["BATON_SUBMIT_SOCKET"] = "/launch/submit.sock"
    let first = await world.baton("submit", "com.example.report", "--payload", "7")
    #expect(first.status == 0)
    #expect(first.output == "com.example.report, request 3: ready\n")
    let again = await world.baton("submit", "com.example.report", "--payload", "7")
    #expect(again.output == "com.example.report, request 3: ready; this request had submitted it before\n")
    let refused = await world.baton("submit", "com.example.forbidden")
    #expect(refused.status == 77)
    #expect(refused.error == "error: com.example.forbidden: notPermitted: add it to 'maySubmit'\n")
    #expect(
      world.backend.launchSubmissions.withLock { $0 } == [
        "/launch/submit.sock - com.example.report 7", "/launch/submit.sock - com.example.report 7",
        "/launch/submit.sock - com.example.forbidden -",
      ])
    #expect(world.coordinator.orders.isEmpty)
    #expect(world.backend.targets.withLock { $0 }.isEmpty)
  }

  @Test func `in a launch it can only submit, unless a coordinator is named`() async throws {
    var world = World { $0.submissions = [Self.accepted()] }
    world.variables["BATON_SUBMIT_SOCKET"] = "/launch/submit.sock"
    for (arguments, text) in [
      (["submit", "com.example.report", "--wait"], "a launch cannot wait for what it submits"),
      (["submit", "-f", "job.yaml"], "a launch cannot apply a file"),
    ] {
      let run = await world.baton(arguments)
      #expect(run.status == 64)
      #expect(run.error.contains(text), "\(run.error)")
    }
    _ = await world.baton("submit", "com.example.report", "--coordinator", "127.0.0.1:7420")
    #expect(world.backend.launchSubmissions.withLock { $0 }.isEmpty)
    #expect(world.coordinator.orders.count == 1)
  }

  @Test(.contract(14.1)) func `a date over a week off is warned of, and kept`() async {
    let world = World()
    let week = await world.baton("submit", "com.example.report", "--earliest", "7d")
    let more = await world.baton("submit", "com.example.report", "--earliest", "7d1s")
    #expect(week.error.isEmpty)
    #expect(
      more.error
        == "warning: --earliest: the date is more than a week away; it is accepted, and the request does not start "
        + "before it\n"
    )
    #expect(
      world.coordinator.orders.map(\.earliestBeginDate) == [
        .afterSubmission(.seconds(604_800)), .afterSubmission(.seconds(604_801)),
      ])
  }

  @Test func `after a lost connection the same id is submitted again`() async {
    var world = World { $0.errors = [CoordinatorUnreachable("reset")] }
    world.elapsing = [.milliseconds(500)]
    let run = await world.baton("submit", "com.example.report")
    #expect(run.status == 0)
    #expect(world.coordinator.orders.map(\.id) == ["id-1", "id-1"])
    #expect(run.error == "the connection to the coordinator was lost (reset); trying again\n")
  }

  @Test func `it gives up after three more tries`() async {
    var world = World { $0.errors = Array(repeating: CoordinatorUnreachable("reset"), count: 9) }
    world.elapsing = [.milliseconds(500)]
    let run = await world.baton("submit", "com.example.report")
    #expect(run.status == 69)
    #expect(world.coordinator.orders.map(\.id) == Array(repeating: "id-1", count: 4))
  }

  @Test func `an unreachable coordinator is told at once, not tried again`() async {
    let world = World(FakeBackend(FakeCoordinator(), error: CoordinatorUnreachable("nobody answers")))
    let run = await world.baton("submit", "com.example.report", "--wait")
    #expect(run.status == 69)
    #expect(run.error == "error: nobody answers\n")
    #expect(world.backend.targets.withLock { $0.count } == 1)
  }

  @Test func `a file is applied, then its literal identifiers are submitted`() async throws {
    try await withTemporaryFolder { folder in
      try write(ChangingTests.report, to: folder + "/job.yaml")
      let world = World()
      let run = await world.baton("submit", "-f", folder + "/job.yaml", "-o", "json")
      #expect(run.status == 0)
      #expect(
        world.coordinator.calls == [
          "apply com.example.report com.example.photos.*", "submit com.example.report by ana",
        ])
      #expect(run.output.hasPrefix("[\n  {\n    \"identifier\": \"com.example.report\""))
      #expect(run.error == "com.example.photos.* is a pattern: applied, not submitted\n")
    }
  }

  @Test(arguments: [([], ["apply com.example.nightly"]), (["--priority", "utility"], nil)] as [([String], [String]?)])
  func `a repeating job that apply has submitted is not submitted again, unless it is to be another request`(
    options: [String], calls: [String]?
  ) async throws {
    try await withTemporaryFolder { folder in
      let job = "identifier: com.example.nightly\nkind: processing\nrepeat: {every: 24h}\nwork: {command: [\"true\"]}\n"
      try write(job, to: folder + "/job.yaml")
      let world = World { state in
        let id = JobIdentifier(trusted: "com.example.nightly")
        let receipt = SubmissionReceipt(
          request: RequestID(7), identifier: id, number: 1, state: .ready, eligibleAt: now, replaced: false)
        state.applied = [
          AppliedDefinition(
            id: DefinitionID(1), pattern: IdentifierPattern(id), change: .created, submitted: receipt)
        ]
      }
      let run = await world.baton(["submit", "-f", folder + "/job.yaml"] + options)
      #expect(run.status == 0)
      let submission = "submit com.example.nightly by ana"
      #expect(world.coordinator.calls == calls ?? ["apply com.example.nightly", submission])
      #expect(run.output.contains("com.example.nightly, request \(calls == nil ? "" : "1")"))
    }
  }

  @Test func `a file of patterns only has nothing to submit`() async throws {
    try await withTemporaryFolder { folder in
      try write("identifier: com.example.*\nkind: refresh\n", to: folder + "/job.yaml")
      let world = World()
      let run = await world.baton("submit", "-f", folder + "/job.yaml")
      #expect(run.status == 64)
      #expect(run.error.contains("nothing to submit, because a pattern (com.example.*) names no request"))
      #expect(world.coordinator.calls.isEmpty)
    }
  }
}
