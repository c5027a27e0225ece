import BatonBase
import BatonCommands
import BatonModel
import BatonStore
import BatonTelemetry
import ContractRows
import Foundation
import Synchronization
import Testing

@testable import BatonCoordinator
@testable import BatonDoctor

/// Texts that a job, a worker or another operator chose, with every kind of character that a terminal obeys. No command
/// writes such a character, to a terminal, to a pipe or in JSON. Only `logs` prints output as it was written.
@Suite struct HostileTextTests {
  /// Control sequences for a title and a colour, with ESC and as C1; cursor moves, DEL, NUL, marks that reverse the
  /// direction of text, separators, a tag, and a line that looks as if Baton had written it.
  static let hostile =
    "x\u{1B}]0;owned\u{7}\u{1B}[5m\u{1B}[31;1m\u{9B}5m\u{8}\r\u{7F}\u{0}\u{85}\u{61C}\u{200B}\u{200F}\u{202E}\u{2066}"
    + "\u{2028}\u{2029}\u{FEFF}\u{E0041}\nFORGED"

  // MARK: A coordinator that answers with such texts

  private static func record(_ id: Int64, _ identifier: String, _ state: RequestState) -> RequestRecord {
    .example(id, identifier, state) {
      $0.title = hostile
      $0.subtitle = hostile
      $0.reason = hostile
      $0.principal = hostile
      $0.host = HostName(hostile)
      $0.payload = Array("\"\(hostile)\"".utf8)
      $0.result = JobResult(trusted: Array("{\"\(hostile)\": \"\(hostile)\"}".utf8))
      $0.launches = 2
      $0.startedAt = now + .seconds(-60)
      $0.endedAt = state.isEnded ? now : nil
    }
  }

  private static let requests = [
    record(1, "com.example.ready", .ready), record(2, "com.example.running", .running),
    record(3, "com.example.report", .failed), record(4, "com.example.stopped", .cancelled),
    record(5, "com.example.held", .scheduled), record(6, "com.example.done", .succeeded),
  ]

  private static func details(_ record: RequestRecord) -> RequestDetails {
    RequestDetails(
      record: record,
      launches: [1, 2].map { number in
        LaunchRecord(
          launch: LaunchKey(request: record.id, number: number), host: HostName(hostile), startedAt: now,
          endedAt: number == 1 ? now : nil, outcome: number == 1 ? .failed : nil, reason: hostile, isGraceful: false,
          firstBatch: 0,
          batches: 1, spanID: SpanID(1), isSimulated: true)
      },
      events: [EventRecord(at: now, name: hostile, detail: hostile)],
      pokes: [PokeRecord(id: hostile, at: now, priority: .immediate, principal: hostile)], position: 1)
  }

  private static let host = HostReport(
    name: HostName(hostile), state: .gone, version: hostile, capabilities: Capabilities(slots: 2),
    conditions: Conditions(
      power: Reading(.battery, source: hostile, raw: hostile), battery: Reading(1, source: hostile, raw: hostile),
      lowPowerMode: Reading(nil, source: hostile, raw: hostile), thermal: Reading(.fair, source: hostile, raw: hostile),
      network: Reading(.metered, source: hostile, raw: hostile), isIdle: Reading(nil, source: hostile, raw: hostile),
      gpus: Reading([GPU(name: hostile, memoryBytes: 1 << 30)], source: hostile, raw: hostile),
      labels: Reading([hostile: hostile], source: hostile, raw: hostile), owner: .paused(by: hostile, until: nil)),
    usedSlots: 1, running: [JobIdentifier(trusted: "com.example.running")], lastSeenAt: now)

  private static func line(_ host: String?) -> Explanation.Line {
    Explanation.Line(
      host: host.map { HostName($0) }, code: hostile, text: hostile, remedy: hostile, isPermanent: true,
      source: hostile, raw: hostile, age: .seconds(1), reportedAt: now, clearsAt: now + .seconds(5))
  }

  private static let trace: RequestTrace = {
    var sample = TraceSample()
    sample.wait(0, 5, [(hostile, 1, 3)], heldBy: hostile)
    sample.event(hostile, 4, hostile)
    let launch = sample.launch(5, 9, on: hostile, .failed, hostile, error: hostile)
    sample.expire(8, 9, of: launch, hostile)
    sample.readAt = 10
    return sample.trace
  }()

  private static let credential = Credential(
    id: [1], name: hostile, digest: [2], scopes: [.read], patterns: [IdentifierPattern(trusted: hostile)], end: now,
    createdAt: now, createdBy: hostile, lastUsedAt: now)

  private static let audited = AuditRow(
    sequence: 1,
    entry: AuditEntry(
      at: now, actor: hostile, credential: [1], peer: hostile, method: hostile, object: hostile, outcome: .failed,
      detail: hostile), previous: .init(repeating: 0, count: 32), hash: .init(repeating: 1, count: 32))

  private static func world(isTerminal: Bool) -> World {
    var facts = HostFacts()
    facts.owner = .notPermitted(hostile)
    facts.mistakes = [hostile]
    facts.coordinators = [.init(address: hostile, answer: .unreachable(hostile))]
    facts.groups = .init(base: nil, why: hostile)
    facts.user = .init(id: 1, name: hostile)
    let coordinator = FakeCoordinator(requests) { state in
      state.details = requests.map(details)
      state.hosts = [host]
      state.namespaces = NamespaceReports([NamespaceReport(Namespace(hostile, owner: PrincipalPattern("ada")), use: 1)])
      state.coordinators = [
        CoordinatorReport(
          number: 1,
          place: CoordinatorPlace(
            name: hostile, version: hostile, workers: hostile, operators: hostile, https: hostile),
          hosts: 1, isSteward: true, answers: true)
      ]
      state.explanation = Explanation(
        record: requests[0], verdict: .waiting, lines: [line(nil), line(hostile), line("known")], position: 2,
        advice: "one change starts it: on \(hostile): \(hostile)")
      state.trace = trace
      state.cancellations = [
        .stopping(
          LaunchKey(request: RequestID(2), number: 2), requests[1].identifier, number: 1, host: HostName(hostile))
      ]
      state.evicted = [HostName(hostile)]
      state.output = [(1, hostile), (2, hostile)]
      state.applied = [
        AppliedDefinition(id: DefinitionID(1), pattern: IdentifierPattern(trusted: hostile), change: .created)
      ]
      var work = Work(command: [hostile, "x"], directory: "/" + hostile, environment: ["A": hostile])
      work.items = .list([hostile])
      var definition = Definition(pattern: IdentifierPattern(trusted: "com.example.running"), kind: .continued)
      (definition.title, definition.work, definition.requirements.labels) = (hostile, work, ["zone": hostile])
      var report = DefinitionReport(definition: definition, appliedAt: now, problem: hostile)
      report.standing.pause = SchedulePause(by: hostile, since: now, reason: hostile)
      state.reports = [report]
      state.schedules = [
        ChangedSchedule(
          identifier: JobIdentifier(trusted: hostile), pause: SchedulePause(by: hostile, since: now, reason: hostile))
      ]
      state.backfill = Backfill(by: hostile, startedAt: now, from: now, until: now, total: 1)
      state.versions = [
        DefinitionVersion(
          number: 2, id: DefinitionID(2), definition: definition, appliedAt: now, appliedBy: hostile),
        DefinitionVersion(
          number: 1, id: DefinitionID(1), definition: Definition(pattern: definition.pattern, kind: .refresh),
          appliedAt: now, appliedBy: hostile),
      ]
      state.history = HostHistory(
        conditions: [
          ConditionChange(at: now, condition: hostile, value: hostile, source: hostile, raw: hostile)
        ],
        launches: [
          HostLaunch(
            request: RequestID(1), identifier: requests[0].identifier, number: 1, launch: 1, startedAt: now,
            endedAt: now, outcome: .failed, reason: hostile)
        ])
      state.queue = QueueReport(
        classes: [
          QueueReport.Class(pattern: definition.pattern, priority: .utility, ready: 1, obstacle: hostile)
        ])
      state.pruned = PruneAnswer(counts: [.failed: 1], hasMore: true)
      state.caller = Caller(name: hostile, credential: credential, peer: hostile)
      state.credentials = [credential]
      state.waiting = [WaitingHost(host: HostName(hostile), number: hostile, peer: hostile, at: now)]
      state.audit = [audited]
      let transfer = Transfer(url: "https://example.com/" + hostile, to: hostile)
      let failure = TransferStatus(
        key: TransferKey(request: RequestID(42), index: 0), state: .ended(.failed(TransferFailure(.file, hostile))),
        lastError: hostile, orderedAt: now, endedAt: now)
      state.transfers = FleetTransfers([
        FleetTransfer(
          key: failure.key, identifier: JobIdentifier(trusted: "com.example.running"), request: 1, host: hostile,
          transfer: transfer, status: failure)
      ])
      var facts = JobNotification(id: hostile, event: .failure, at: hostile)
      (facts.identifier, facts.reason, facts.host) = (JobIdentifier(trusted: hostile), hostile, hostile)
      var failed = NotificationReport(receiver: ReceiverName(trusted: hostile), facts: facts, attempts: 3)
      (failed.error, failed.failedAt) = (hostile, now.nanoseconds)
      facts = JobNotification(id: hostile, event: .hostLost, at: hostile)
      facts.host = hostile
      var waiting = NotificationReport(receiver: ReceiverName(trusted: hostile), facts: facts, attempts: 1)
      (waiting.error, waiting.nextAt) = (hostile, now.nanoseconds)
      state.notifications.receivers = [
        ReceiverReport(name: ReceiverName(trusted: hostile), kind: .webhook, place: hostile)
      ]
      (state.notifications.failed, state.notifications.waiting) = ([failed], [waiting])
      state.receiverAnswer = ReceiverAnswer(isAccepted: false, text: hostile)
      state.limits = [LimitRecord(key: LimitKey(.rate, hostile), last: .concurrency(2), running: 1, waiting: 1)]
      state.verdict = AuditVerdict(rows: 1, last: 1, head: audited.hash, problem: hostile)
    }
    var world = World(FakeBackend(coordinator, host: facts))
    if isTerminal { world.terminal = .init(columns: 120, rows: 30) }
    world.elapsing = [.seconds(1)]
    return world
  }

  // MARK: Every command, every form

  static let listed = [
    ["list", "--all"], ["list", "--state", "pending"], ["hosts"], ["coordinators"], ["namespaces"], ["schedules"],
    ["schedules", "list"], ["schedules", "pause", "com.example.running", "--reason", "x"],
    ["schedules", "resume", "com.example.running"],
    ["schedules", "backfill", "com.example.running", "--stop"],
    ["status"],
    ["queue"],
    ["hosts", "*", "--state", "ready"], ["hosts", "alpha", "--history"],
    ["definitions", "com.example.running", "--versions"],
  ]
  static let looking = [
    ["show", "com.example.running"], ["show", "com.example.ready"], ["show", "com.example.report"],
    ["show", "com.example.stopped"], ["show", "com.example.held"], ["hosts", hostile], ["hosts", "nope"],
    ["explain", "com.example.ready"], ["trace", "com.example.report"], ["wait", "com.example.report"],
    ["watch", "com.example.report"], ["watch", "com.example.done"], ["doctor"], ["console", "--print"],
    ["limits"], ["limits", hostile], ["set", "--key", "customer/acme", "concurrency=2"],
    ["set", "--key", hostile, "concurrency=2"],
    ["notifications"], ["notifications", "--receivers"], ["notify", "test", "ops"], ["notify", "test", hostile],
    ["transfers"], ["transfers", hostile], ["transfers", "--cancel", hostile],
  ]
  static let changing = [
    ["cancel", "com.example.running"], ["cancel", "com.example.*", "--yes"], ["cancel", "com.example.*", "--dry-run"],
    ["retry", "com.example.*", "--dry-run"], ["evict", "com.example.report"],
    ["evict", "com.example.*", "--host", hostile],
    ["evict", "com.example.*", "--host", hostile, "--allow"], ["retry", "com.example.report"],
    ["retry", "com.example.report", "--wait"], ["simulate", "launch", "com.example.ready", "--host", hostile],
    ["simulate", "expire", "com.example.running"], ["simulate", "conditions", hostile, "--idle", "true"],
    ["simulate", "conditions", hostile, "--end"], ["set", "com.example.running", "spread=2"],
    ["simulate", "transfer", "42/0", "--fail"], ["simulate", "transfer", hostile, "--fail"],
    ["set", hostile, hostile],
    ["show", "com.example.running", "--shards"], ["show", "com.example.running", "--definition"], ["definitions"],
    ["definitions", hostile], ["prune", "com.example.*", "--yes"], ["prune", hostile],
    ["revert", "com.example.running", "--to", "1"], ["revert", hostile, "--to", "1"], ["host", "forget", hostile],
  ]
  /// What is said about people, hosts and the fleet, and what they have named.
  static let people = [
    ["whoami"], ["credential", "list"], ["credential", "create", hostile, "--scope", "read"],
    ["credential", "create", "bob", "--scope", hostile], ["credential", "revoke", hostile], ["audit"],
    ["audit", "list", "--actor", hostile], ["audit", "verify"], ["audit", "verify", "--head", hostile],
    ["host", "waiting"], ["host", "invite", hostile], ["host", "invite", "desk"], ["host", "revoke", hostile],
    ["host", "approve", hostile, hostile], ["fleet"], ["fleet", "show"], ["fleet", "roots"], ["fleet", "rotate"],
    ["login", hostile], ["login", "base:7422", "--pin", hostile], ["logout", "--fleet", hostile],
    ["remove", hostile], ["remove", "com.example.report"], ["schema"], ["store", "backup", hostile],
    ["store", "move", "--to", hostile], ["store", "move", "--to", hostile, "--data", hostile],
  ]
  static let plain = [
    ["drain", hostile], ["undrain", hostile], ["trace", "com.example.report", "--all"], ["pause"], ["resume"],
    ["trace", "com.example.report", "-o", "otlp"], [hostile], ["show", hostile], ["list", "--state", hostile],
    ["simulate", hostile], ["help", hostile], ["definitions", "-o", "yaml"],
  ]
  static let every =
    (listed + looking + changing + people).flatMap { [$0, $0 + ["-o", "json"], $0 + ["-o", "jsonl"]] } + plain
    + listed.flatMap { command in ["yaml", "name", "wide"].map { command + ["-o", $0] } } + [["complete", "hosts"]]

  @Test(.refuses(35), arguments: every, [false, true])
  func `no output has a character that acts on a terminal`(arguments: [String], isTerminal: Bool) async {
    let run = await Self.world(isTerminal: isTerminal).baton(arguments)
    Self.expectPlain(run)
  }

  /// The commands that the other tests of this suite run, and one that prints nothing which another program chose.
  private static let elsewhere = [
    "submit", "poke", "logs", "run", "up", "validate", "plan", "apply", "coordinator",
    "start", "completion",
  ]

  @Test func `every command is run with such texts`() {
    let groups = ["store", "simulate"]
    let run = Set(Self.every.flatMap { [$0[0], $0.prefix(2).joined(separator: " ")] } + Self.elsewhere)
    for command in HelpTests.commands + HelpTests.simulations where !groups.contains(command) {
      #expect(run.contains(command), "\(command)")
    }
  }

  @Test(arguments: [false, true]) func `logs prints what was written, and only that`(isTerminal: Bool) async {
    let run = await Self.world(isTerminal: isTerminal).baton("logs", "com.example.running")
    #expect(run.output == Self.hostile + Self.hostile)
    Self.expectPlain(CommandRun(arguments: run.arguments, status: run.status, output: "", error: run.error))
  }

  @Test(arguments: [["submit", "com.example.new"], ["poke", "com.example.new"]], [false, true])
  func `answers to a submission are plain, also their warnings and refusals`(
    arguments: [String], isTerminal: Bool
  ) async {
    for form in [[], ["-o", "json"], ["--wait"]] {
      let warned = Self.world(isTerminal: isTerminal)
      warned.coordinator.state.withLock { state in
        state.submissions = [
          .accepted(
            SubmissionReceipt(
              request: RequestID(3), identifier: Self.requests[2].identifier, number: 1, state: .ready, eligibleAt: now,
              replaced: false), traceID: "4b4b", warning: "no known host could run it now (\(Self.hostile))")
        ]
      }
      Self.expectPlain(await warned.baton(arguments + form))
      let refused = Self.world(isTerminal: isTerminal)
      refused.coordinator.state.withLock { $0.submissions = [.refused(code: Self.hostile, message: Self.hostile)] }
      Self.expectPlain(await refused.baton(arguments + form))
    }
  }

  static let errors: [any Error & Sendable] = [
    OperatorError.notFound(hostile), OperatorError.conflict(hostile), OperatorError.invalid(hostile),
    OperatorError.unknown(hostile), OperatorError.overloaded(hostile, retryAfter: .seconds(1)),
    OperatorError.refused(.unavailable(hostile)), CoordinatorUnreachable(hostile), StoreError(.locked, hostile),
  ]

  @Test(.refuses(35), arguments: errors.indices, [false, true])
  func `errors are plain`(index: Int, isTerminal: Bool) async {
    for arguments in [["list"], ["submit", "com.example.report"], ["drain", "alpha"]] {
      var world = Self.world(isTerminal: isTerminal)
      // A submission tries again after this pause when no coordinator answers.
      world.elapsing = [.milliseconds(500)]
      world.coordinator.state.withLock { $0.errors = [Self.errors[index]] }
      Self.expectPlain(await world.baton(arguments))
    }
  }

  @Test(.refuses(35), arguments: [false, true])
  func `a job file's texts are plain, in what is wrong with it and in its run`(
    isTerminal: Bool
  ) async throws {
    try await withTemporaryFolder { folder in
      let escapes = #"\e]0;owned\a\e[5m\u009b5m\u202e\u2028\nFORGED"#
      try write("identifier: \"com.\(escapes)\"\nkind: \"\(escapes)\"\n\"\(escapes)\": 1\n", to: folder + "/bad.yaml")
      try write("identifier: com.a\nkind: nope # \u{202E}\n", to: folder + "/turned.yaml")
      for command in [["validate"], ["apply"], ["run"], ["up"], ["submit", "-f"]] {
        for file in ["/bad.yaml", "/turned.yaml"] {
          Self.expectPlain(await Self.world(isTerminal: isTerminal).baton(command + [folder + file]))
        }
      }
      for form in ["json", "jsonl"] {
        Self.expectPlain(await Self.world(isTerminal: isTerminal).baton("validate", folder + "/bad.yaml", "-o", form))
      }
      try write(RunningTests.job, to: folder + "/job.yaml")
      for form in [[], ["-o", "json"], ["--quiet"]] {
        let world = Self.world(isTerminal: isTerminal)
        world.coordinator.state.withLock { state in
          state.changes[RequestID(3)] = [Self.requests[2]]
        }
        var run = await world.baton(["run", folder + "/job.yaml", "--data", folder] + form)
        #expect(run.status == 1)
        #expect(run.error.contains("the last output of") == (form == ["--quiet"]), "it was shown as it came")
        // Standard output has every line of the command, also one that looks like a message of Baton.
        if form.isEmpty { run.output.replace("\n", with: "\n| ") }
        Self.expectPlain(run)
        Self.expectPlain(await Self.world(isTerminal: isTerminal).baton(["apply", folder + "/job.yaml"] + form))
      }
    }
  }

  @Test func `JSON keeps the text for a program that reads it`() async throws {
    let run = await Self.world(isTerminal: true).baton("hosts", "-o", "json")
    let hosts = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]])
    #expect(hosts.first?["name"] as? String == Self.hostile)
  }

  // MARK: What is plain

  /// The text without Baton's own colours, and without the cursor moves of a board that redraws itself.
  private static func withoutOwnSequences(_ text: String) -> String {
    text.replacing(/\u{1B}\[(0|1|31|32|33|36|90)m/, with: "").replacing(/\r?\u{1B}\[[0-9]*[AGJK]/, with: "")
  }

  private static func expectPlain(_ run: CommandRun, sourceLocation: SourceLocation = #_sourceLocation) {
    for text in [run.output, run.error] {
      let rest = withoutOwnSequences(text)
      let raw = Set(rest.unicodeScalars.filter { !$0.isPrintable && $0 != "\n" }.map { String($0.value, radix: 16) })
      #expect(raw.isEmpty, "\(run.arguments): \(raw.sorted())", sourceLocation: sourceLocation)
      // A failure's text is indented, so a forged line could pass for Baton's words only if it began in the
      // first column.
      let lines = rest.split(separator: "\n")
      #expect(!lines.contains { $0.hasPrefix("FORGED") }, "\(run.arguments)", sourceLocation: sourceLocation)
    }
  }
}
