import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Testing

/// Commands that change something, without the commands that wait.
@Suite struct ChangingTests {
  static let report = """
    identifier: com.example.report
    kind: processing
    work: {command: ["true"]}
    ---
    identifier: com.example.photos.*
    kind: continued
    title: Photos
    work: {command: ["true"]}
    """

  @Test(arguments: [
    (["remove", "com.example.photos.*"], "remove com.example.photos.*"), (["drain", "alpha"], "draining alpha true"),
    (["undrain", "alpha"], "draining alpha false"), (["pause"], "paused true"), (["resume"], "paused false"),
  ])
  func `a change is asked for and confirmed`(arguments: [String], call: String) async throws {
    let world = World()
    let run = await world.baton(arguments)
    #expect(world.coordinator.calls.first == call)
    try Golden.expect(run.transcript, is: arguments[0])
  }

  @Test func `apply tells what became of each definition`() async throws {
    try await withTemporaryFolder { folder in
      try write(Self.report, to: folder + "/job.yaml")
      let world = World { state in
        state.applied = [
          AppliedDefinition(
            id: DefinitionID(1), pattern: IdentifierPattern(trusted: "com.example.report"), change: .updated,
            submitted: SubmissionReceipt(
              request: RequestID(1), identifier: JobIdentifier(trusted: "com.example.report"), number: 2, state: .ready,
              eligibleAt: now, replaced: false)),
          AppliedDefinition(
            id: DefinitionID(2), pattern: IdentifierPattern(trusted: "com.example.photos.*"), change: .unchanged),
        ]
      }
      let table = await world.baton("apply", folder)
      #expect(table.status == 0)
      #expect(table.output == "com.example.report: updated, submitted request 2\ncom.example.photos.*: unchanged\n")
      let lines = await world.baton("apply", folder + "/job.yaml", "-o", "jsonl")
      #expect(
        lines.output == """
          {"identifier":"com.example.report","change":"updated","submittedRequest":2,"waitingWithEarlierDefinition":0,"refrozen":0,"waiting":[]}
          {"identifier":"com.example.photos.*","change":"unchanged","submittedRequest":null,"waitingWithEarlierDefinition":0,"refrozen":0,"waiting":[]}

          """)
    }
  }

  @Test(arguments: [["validate"], ["apply"], ["submit", "-f"], ["run"], ["up"]])
  func `a bad file is 65, with all its problems, and nothing is applied`(command: [String]) async throws {
    try await withTemporaryFolder { folder in
      try write("identifier: com.example.report\nkind: procesing\nretry: {limt: 3}\n", to: folder + "/job.yaml")
      let world = World()
      let run = await world.baton(command + [folder + "/job.yaml"])
      #expect(run.status == 65)
      #expect(run.output.isEmpty)
      #expect(world.coordinator.calls.isEmpty)
      #expect(run.error.contains("/job.yaml:2:7: error:"))
      #expect(run.error.contains("/job.yaml:3:9: error:"))
      #expect(run.error.contains("2 errors in 1 file"))
    }
  }

  @Test func `validate praises what is valid, and lists problems as JSON`() async throws {
    try await withTemporaryFolder { folder in
      try write(Self.report, to: folder + "/a.yaml")
      try write("identifier: com.example.b\nkind: refresh\nearliestBeginDate: 8d\n", to: folder + "/b.yaml")
      let good = await World().baton("validate", folder)
      #expect(good.status == 0)
      #expect(good.output == "3 definitions in 2 files are valid\n")
      #expect(good.error.contains("b.yaml:3:20: warning:"))
      try write("kind: refresh\n", to: folder + "/b.yaml")
      let bad = await World().baton("validate", folder + "/b.yaml", "-o", "jsonl")
      #expect(bad.status == 65)
      #expect(bad.output.hasPrefix(#"{"file":"\#(folder)/b.yaml","line":1,"column":1,"severity":"error","message":""#))
    }
  }

  @Test(arguments: [["validate"], ["apply"]])
  func `with --strict a warning is an error, and nothing is applied`(command: [String]) async throws {
    try await withTemporaryFolder { folder in
      try write(
        "identifier: com.example.b\nkind: processing\nwork: {command: [\"true\"], environment: {API_TOKEN: abc}}\n",
        to: folder + "/b.yaml")
      #expect(await World().baton("validate", folder).status == 0)
      let world = World()
      let run = await world.baton(command + ["--strict", folder])
      #expect(run.status == 65)
      #expect(run.error.contains("b.yaml:3:41: error: 'API_TOKEN' looks like a secret"))
      #expect(world.coordinator.calls.isEmpty)
    }
  }

  @Test func `a file that is not there is a bad file`() async {
    let run = await World().baton("validate", "/no/such/job.yaml")
    #expect(run.status == 65)
    #expect(run.error.contains("/no/such/job.yaml:1:1: error: there is no such file or folder"))
  }

  @Test(.contract(8.3)) func `cancel tells what ended and what is stopping`() async throws {
    let world = World { state in
      let id = JobIdentifier(trusted: "com.example.report")
      state.cancellations = [
        .ended(RequestID(2), id, number: 2),
        .stopping(LaunchKey(request: RequestID(1), number: 3), id, number: 1, host: HostName("alpha")),
      ]
    }
    try Golden.expect(await world.baton("cancel", "com.example.report").transcript, is: "cancel")
    try Golden.expect(await world.baton("cancel", "--all", "--yes", "-o", "jsonl").transcript, is: "cancel-jsonl")
    #expect(world.coordinator.calls.last == "cancel all by ana")
  }

  private static let chained = [
    RequestRecord.running, .ready, .example(9, "com.example.nightly", .scheduled) { $0.repeats = true },
    .example(10, "com.example.feeds", .scheduled) { $0.repeats = true }, .succeeded,
  ]

  @Test(.contract(8.3), arguments: [("y", 0), ("YES", 0), ("n", 1), ("", 1), ("all", 1)])
  func `cancel --all asks a person, and says what would end`(answer: String, status: Int32) async {
    var world = World(Self.chained)
    world.answer = answer
    let run = await world.baton("cancel", "--all")
    #expect(run.status == status)
    #expect(
      run.error.hasPrefix("cancel 4 requests (1 of them running), and end 2 jobs that repeat? That is final. [y/N] "))
    #expect(world.coordinator.calls.contains("cancel all by ana") == (status == 0))
    if status != 0 { #expect(run.error.hasSuffix("error: nothing was cancelled\n")) }
  }

  @Test func `cancel --all asks nothing where nothing would end`() async {
    var world = World([.succeeded])
    world.answer = "n"
    let run = await world.baton("cancel", "--all")
    #expect(run.status == 0)
    #expect(run.error == "nothing to cancel: all requests have ended\n")
  }

  private static let several = [
    RequestRecord.example(1, "com.example.photos.a", .running), .example(2, "com.example.photos.b", .ready),
    .example(3, "com.example.other", .ready), .example(4, "com.example.photos.c", .succeeded),
    .example(5, "com.example.photos.d", .failed), .example(6, "com.example.photos.e", .failed) { $0.principal = "bob" },
  ]

  @Test(arguments: [("y", 0), ("n", 1)])
  func `cancel asks before it cancels the requests of a pattern`(answer: String, status: Int32) async {
    var world = World(Self.several)
    world.answer = answer
    let run = await world.baton("cancel", "com.example.photos.*")
    #expect(run.status == status, "\(run.error)")
    #expect(
      run.error.hasPrefix("cancel 2 requests (1 of them running)? That is final, and ends what repeats. [y/N] "),
      "\(run.error)")
    let cancelled = world.coordinator.calls.filter { $0.hasPrefix("cancel") }
    #expect(cancelled.count == (status == 0 ? 2 : 0), "\(cancelled)")
    if status == 0 { #expect(cancelled.allSatisfy { $0.contains("com.example.photos.") }) }
  }

  @Test func `a dry run shows what would be cancelled or retried, and changes nothing`() async {
    let world = World(Self.several)
    let cancel = await world.baton("cancel", "com.example.photos.*", "--state", "pending", "--dry-run")
    #expect(cancel.output == "com.example.photos.b, request 1: would be cancelled, ready\n", "\(cancel.error)")
    let retry = await world.baton("retry", "--by", "bob", "--dry-run")
    #expect(retry.output == "com.example.photos.e, request 1: would go on at batch 0\n", "\(retry.error)")
    #expect(!world.coordinator.calls.contains { $0.hasPrefix("cancel") || $0.hasPrefix("retry") })
  }

  @Test func `a script has to confirm what it does to several requests`() async {
    let world = World(Self.several)
    let refused = await world.baton("retry", "com.example.photos.*")
    #expect(refused.status == 64)
    #expect(
      refused.error.hasPrefix("error: this would retry 2 requests: confirm with --yes, or look at them with --dry-run"))
    let done = await world.baton("retry", "com.example.photos.*", "--yes")
    #expect(done.status == 0, "\(done.error)")
    #expect(
      Set(world.coordinator.calls.filter { $0.hasPrefix("retry") })
        == ["retry com.example.photos.d", "retry com.example.photos.e"])
  }

  @Test func `nothing that matches is no error`() async {
    let run = await World(Self.several).baton("cancel", "--host", "nowhere", "--yes")
    #expect(run.status == 0)
    #expect(run.error == "nothing to cancel: no unfinished request matches\n")
  }

  @Test func `drain waits until nothing runs on the host, or the deadline is over`() async {
    let idle = await World([.ready]).baton("drain", "alpha", "--wait")
    #expect(idle.status == 0)
    #expect(idle.output == "alpha: draining; nothing runs there\n")
    var busy = World([.example(1, "com.example.report", .running) { $0.host = HostName("alpha") }])
    busy.elapsing = [.seconds(300)]
    let late = await busy.baton("drain", "alpha", "--wait", "--deadline", "5m")
    #expect(late.status == 124, "\(late.error)")
    #expect(late.output == "alpha: draining; 1 request may finish a batch there\n")
    #expect(late.error == "error: alpha still runs something after 5m; it goes on\n")
  }

  @Test func `retry says where it goes on`() async throws {
    let world = World([.failed])
    try Golden.expect(await world.baton("retry", "com.example.broken", "--skip-batch").transcript, is: "retry")
    #expect(world.coordinator.calls.first == "retry com.example.broken skipping")
  }

  @Test func `retry skips the batch of the shard that it names`() async throws {
    let world = World([.failed])
    let run = await world.baton("retry", "com.example.broken", "--skip-batch", "--shard", "3")
    #expect(run.status == 0)
    #expect(world.coordinator.calls.first == "retry com.example.broken skipping in shard 3")
    let alone = await world.baton("retry", "com.example.broken", "--shard", "3")
    #expect(alone.status == 64)
    #expect(alone.error.contains("--shard belongs to --skip-batch; without it all failed shards are retried."))
  }

  @Test func `retry takes the new definition where it is told to`() async throws {
    let world = World([.failed])
    let run = await world.baton("retry", "com.example.broken", "--with-new-definition")
    #expect(run.status == 0)
    #expect(world.coordinator.calls.first == "retry com.example.broken with new definition")
  }

  @Test func `evict waits until nothing of the job runs on the host, or the deadline is over`() async {
    let idle = await World { $0.evicted = [HostName("alpha")] }
      .baton("evict", "com.example.photos.*", "--host", "alpha", "--wait")
    #expect(idle.status == 0)
    #expect(
      idle.output
        == "com.example.photos.*: evicted from alpha\ncom.example.photos.*: runs on none of these hosts\n")
    var busy = World { state in
      state.evicted = [HostName("alpha")]
      state.requests = [.example(1, "com.example.report", .running) { $0.host = HostName("alpha") }]
    }
    busy.elapsing = [.seconds(300)]
    let late = await busy.baton("evict", "com.example.report", "--wait", "--deadline", "5m")
    #expect(late.status == 124, "\(late.error)")
    #expect(late.error == "error: something of com.example.report still runs there after 5m; it goes on\n")
    let other = await busy.baton("evict", "com.example.photos.*", "--host", "alpha", "--wait", "-q")
    #expect(other.status == 0 && other.output.isEmpty, "only the job itself counts: \(other.error)")
  }

  @Test(arguments: [["--allow", "--wait"], ["--deadline", "5m"]])
  func `evict refuses a wait that means nothing`(options: [String]) async {
    #expect(await World([]).baton(["evict", "com.example.report"] + options).status == 64)
  }

  @Test(arguments: [
    ["host", "approve", "desk", "082514"], ["host", "revoke", "desk"], ["host", "forget", "desk"],
    ["credential", "revoke", "alice"],
  ])
  func `what changes who belongs to the fleet can be quiet, or answer in JSON`(arguments: [String]) async {
    let told = await World([]).baton(arguments)
    #expect(told.status == 0 && !told.output.isEmpty, "\(told.error)")
    let quiet = await World([]).baton(arguments + ["-q"])
    #expect(quiet.status == 0 && quiet.output.isEmpty, "\(quiet.error)")
    #expect(await World([]).baton(arguments + ["-o", "jsonl"]).output.hasPrefix("{"))
  }

  @Test func `evict names every host that it is given`() async throws {
    let world = World { $0.evicted = [HostName("alpha"), HostName("beta")] }
    let run = await world.baton("evict", "com.example.photos.*", "--host", "alpha", "--host", "beta")
    #expect(world.coordinator.calls == ["evicted com.example.photos.* alpha beta true"])
    #expect(
      run.output == "com.example.photos.*: evicted from alpha\ncom.example.photos.*: evicted from beta\n")
  }

  @Test func `the schema is the one that is shipped`() async {
    let run = await World().baton("schema")
    #expect(run.status == 0)
    #expect(run.output.hasPrefix("{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\""))
    #expect(run.output.hasSuffix("}\n"))
  }
}
