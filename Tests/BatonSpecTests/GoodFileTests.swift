import BatonModel
import BatonSpec
import ContractRows
import Testing

@Suite("Good files become the definitions that they describe")
struct GoodFileTests {
  private func definitions(_ name: String, directory: DefaultDirectory = .perLaunch) throws -> [Definition] {
    let specification = try Corpus.read(name + ".yaml", in: "good", directory: directory)
    #expect(specification.errors == [])
    return specification.definitions.map(\.definition)
  }

  private func definition(
    _ pattern: String, _ kind: JobKind, _ change: (inout Definition) -> Void = { _ in }
  ) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(trusted: pattern), kind: kind)
    change(&definition)
    return definition
  }

  @Test("there are enough good files, and no file has an error", arguments: Corpus.good)
  func areGood(name: String) throws {
    #expect(Corpus.good.count >= 12)
    let specification = try Corpus.read(name, in: "good")
    #expect(specification.errors == [])
    #expect(!specification.definitions.isEmpty)
  }

  @Test("the defaults follow the kind", .contract(11.1))
  func defaults() throws {
    #expect(try definitions("minimal-refresh") == [definition("com.example.news", .refresh)])
    #expect(try definitions("minimal-processing") == [definition("com.example.index", .processing)])
    #expect(try definitions("minimal-processing")[0].requirements.requiresIdle)
  }

  @Test("every key of 'retry' is read, and what follows the end of a request")
  func retry() throws {
    let crawl = definition("com.example.crawl", .processing) {
      $0.work = Work(command: ["/bin/true"], items: .range(1...9), batchSize: 2)
      $0.batchTimeout = .seconds(60)
      $0.retry = RetryRule(limit: 5, backoff: .seconds(10))
      ($0.retry.maxBackoff, $0.retry.jitter) = (.seconds(300), .seconds(30))
      $0.retry.on = [.exit(75), .signal("SIGKILL"), .timedOut]
      ($0.retry.skipBatchAfter, $0.retry.skipLimit) = (2, 4)
    }
    let handler = definition("com.example.handler", .processing) {
      $0.batchTimeout = .seconds(600)
      $0.retry.notOn = [FailureKind(rawValue: "NotFoundError"), .exit(64)]
      $0.onSuccess = FollowUp("com.example.report")
    }
    let customers = definition("com.example.customers.*", .processing) {
      $0.onFailure = FollowUp("com.example.repair.${wildcard}")
    }
    let nightly = definition("com.example.nightly", .processing) {
      $0.onSuccess = FollowUp("com.example.work", "com.example.report")
      $0.onFailure = FollowUp("com.example.repair")
    }
    #expect(try definitions("retry") == [crawl, handler, customers, nightly])
  }

  @Test("what jobs come after is read")
  func after() throws {
    func job(_ text: String) throws -> JobReference { try #require(JobReference(text)) }
    let fetch = definition("com.example.fetch", .processing) { _ in }
    var report = definition("com.example.report", .processing) { _ in }
    report.after = [Dependency(try job("com.example.fetch")), Dependency(try job("com.example.check"), on: .any)]
    var invoices = definition("com.example.invoices.*", .processing) { _ in }
    invoices.after = [Dependency(try job("com.example.import.${wildcard}"), on: .failure)]
    #expect(try definitions("after") == [fetch, report, invoices])
  }

  @Test("every key of 'notify' is read")
  func notify() throws {
    let report = definition("com.example.report", .processing) {
      $0.work = Work(command: ["/bin/true"])
      $0.budget = nil
      var rule = NotifyRule()
      let ops = [ReceiverName("ops")!]
      (rule.success, rule.skippedBatch, rule.missed) = (ops, ops, ops)
      rule.failure = ops + [ReceiverName("team.mail")!]
      (rule.quarantine, rule.hostLost) = ([ReceiverName("pager-1")!], [ReceiverName("pager-1")!])
      rule.waits = NotifyRule.Patience(after: .seconds(3600), to: ops)
      $0.notify = rule
    }
    #expect(try definitions("notify") == [report])
  }

  @Test("limits by key are read")
  func limits() throws {
    let crawl = definition("com.example.crawl.*", .processing) {
      $0.concurrency = ConcurrencyLimit(key: KeyTemplate("site/${wildcard}"), limit: 2)
      $0.rate = RateLimitByKey(
        key: KeyTemplate("api/example"), rule: StartRate(limit: 100, per: .seconds(60), burst: 20))
    }
    let report = definition("com.example.report", .processing) {
      $0.rate = RateLimitByKey(key: KeyTemplate("api/example"), rule: StartRate(limit: 1, per: .seconds(86_400)))
    }
    #expect(try definitions("limits") == [crawl, report])
  }

  @Test("every key of a continued job is read")
  func continued() throws {
    let expected = definition("com.example.photos.export.*", .continued) {
      $0.title = "Exporting photos"
      $0.subtitle = "All of them"
      $0.requirements = Requirements(
        externalPower: true, network: .any, gpu: GPURequirement(), slots: 2, labels: ["zone": "garage", "floor": "2"],
        preferredLabels: [
          "disk": PreferredLabel("nvme", weight: 10), "quiet": PreferredLabel("true"), "rack": PreferredLabel("7"),
        ])
      $0.strategy = .fail
      $0.priority = .background
      $0.budget = .seconds(5_400)
      $0.retry = RetryRule(limit: 0, backoff: .milliseconds(500))
      $0.closingWindow = .seconds(60)
      $0.stallAfter = .seconds(150)
      $0.dailyAllowance = .seconds(7_200)
      $0.maxRunning = 4
      $0.pendingLimit = 2_000_000
      $0.pokeSpacing = .seconds(300)
      $0.maySubmit = ["com.example.report", "com.example.photos.export.*"].map { IdentifierPattern($0)! }
      $0.work = Work(
        command: ["./resize.sh", "--to", "${wildcard}", "$${HOME}", "cost: $5"], directory: "/srv/photos",
        items: .glob("**/*.jpg"), batchSize: 50, pass: .file,
        environment: ["QUALITY": "85", "DRY_RUN": "false", "SCALE": "1.5", "LEVEL": "85", "EMPTY": ""],
        terminateBefore: .seconds(10))
    }
    #expect(try definitions("every-key-of-continued") == [expected])
  }

  @Test("every key of a refresh is read")
  func refresh() throws {
    let expected = definition("com.example.prices", .refresh) {
      $0.title = "Prices"
      $0.subtitle = "Every minute"
      $0.requirements.network = .unmetered
      $0.allowFrequent = true
      $0.earliestBeginDate = .afterSubmission(.seconds(900))
      $0.repeatEvery = .seconds(60)
      $0.priority = .userInitiated
      $0.pendingLimit = 1
    }
    #expect(try definitions("frequent-refresh") == [expected])
    #expect(try Corpus.read("frequent-refresh.yaml", in: "good").problems == [])
  }

  @Test("every duration with a default can be set, from the shortest to the longest")
  func durations() throws {
    let shortest = definition("com.example.shortest", .refresh) {
      ($0.closingWindow, $0.stallAfter, $0.dailyAllowance) = (.seconds(1), .seconds(1), .seconds(1))
      $0.pokeSpacing = .zero
      $0.budget = nil
      $0.work = Work(command: ["/bin/true"], terminateBefore: .zero)
    }
    let longest = definition("com.example.longest", .processing) {
      ($0.closingWindow, $0.stallAfter, $0.dailyAllowance) = (.seconds(600), .seconds(86_400), .seconds(86_400))
      $0.pokeSpacing = .seconds(7 * 86_400)
      $0.budget = nil
      $0.work = Work(command: ["/bin/true"], terminateBefore: .seconds(600))
    }
    let byDefault = definition("com.example.default", .continued) {
      $0.title = "By default"
      $0.work = Work(command: ["/bin/true"], terminateBefore: .seconds(30))
    }
    #expect(try definitions("durations-at-their-limits") == [shortest, longest, byDefault])
    // Two of the definitions leave the running batch no time.
    let problems = try Corpus.read("durations-at-their-limits.yaml", in: "good").problems
    #expect(problems.count == 2)
    #expect(problems.allSatisfy { $0.severity == .warning && $0.message.contains("the running batch has no time") })
  }

  @Test("GPUs, dates and repetition are read")
  func processing() throws {
    let expected = definition("com.example.train", .processing) {
      $0.requirements = Requirements(network: .any, gpu: GPURequirement(count: 2, memoryBytes: 8 << 30))
      // 2026-01-02T05:30:00.25Z
      $0.earliestBeginDate = .at(Timestamp(nanoseconds: 1_767_331_800_250_000_000))
      $0.repeatEvery = .seconds(7 * 86_400)
    }
    #expect(try definitions("processing-with-gpu") == [expected])
  }

  @Test("a schedule is read, and the days of its bounds are those of its zone")
  func schedule() throws {
    let expected = definition("com.example.nightly", .processing) {
      var schedule = JobSchedule(cron: try! CronExpression("30 2 * * MON-FRI"), timeZone: "Europe/Berlin")
      (schedule.jitter, schedule.missed, schedule.overlap) = (.seconds(600), .skip, .replace)
      schedule.exclude = [CivilDate("2026-12-25")!, CivilDate("2027-01-01")!]
      // 2026-11-30T23:00:00Z, which is midnight in Berlin.
      schedule.from = Timestamp(nanoseconds: 1_796_079_600_000_000_000)
      // 2027-12-31T11:00:00Z
      schedule.until = Timestamp(nanoseconds: 1_830_250_800_000_000_000)
      ($0.schedule, $0.budget) = (schedule, nil)
      $0.work = Work(command: ["/bin/true"])
    }
    #expect(try definitions("schedule") == [expected])
    #expect(
      try Corpus.read("schedule.yaml", in: "good").findings.first?.message
        == "the next times in Europe/Berlin are Tue 2026-12-01 02:30, Wed 2026-12-02 02:30, Thu 2026-12-03 02:30, each "
        + "up to 10m later")
  }

  @Test("a relative directory starts at the YAML's folder")
  func relativeDirectory() throws {
    let work = Work(command: ["./count", "a b"], directory: "/srv/jobs/data/today", items: .lines("items.txt"))
    #expect(try definitions("relative-directory").map(\.work) == [work])
  }

  @Test("without a directory, run and up take the YAML's folder, and apply takes none")
  func defaultDirectory() throws {
    #expect(try definitions("range-and-list").map { $0.work?.directory } == [nil, nil])
    let folders = try definitions("range-and-list", directory: .folderOfFile).map { $0.work?.directory }
    #expect(folders == ["/srv/jobs", "/srv/jobs"])
  }

  @Test("ranges are computed, and plain scalars of lists and commands are their text")
  func rangeAndList() throws {
    let works = try definitions("range-and-list").map(\.work)
    let list = Work(
      command: ["sleep", "1", "true", "no", "010", "2026-01-01", "1.5"],
      items: .list(["a", "7", "line one\nline two", ""]))
    #expect(works == [Work(command: ["/usr/bin/seq"], items: .range(-5...9_999)), list])
  }

  @Test("an alias is the value that it stands for")
  func aliases() throws {
    let argv = ["/bin/echo", "&x", "*x"]
    let first = definition("com.example.first", .processing) {
      $0.retry = RetryRule(limit: 10, backoff: .seconds(300))
      $0.budget = .seconds(300)
    }
    let second = definition("com.example.second", .processing) {
      $0.retry = RetryRule(limit: 0)
      $0.work = Work(command: argv, items: .list(argv))
    }
    #expect(try definitions("aliases") == [first, second])
  }

  @Test("documents of nothing but comments are passed over, and places are those of the file")
  func documents() throws {
    let located = try Corpus.read("documents-and-comments.yaml", in: "good").definitions
    #expect(located.map(\.definition.pattern.rawValue) == ["com.example.one", "com.example.two"])
    #expect(located.map(\.position) == [Position(line: 3, column: 13), Position(line: 9, column: 13)])
    #expect(located.map(\.file) == ["documents-and-comments.yaml", "documents-and-comments.yaml"])
  }

  @Test("JSON, quotes, CR LF and a byte order mark make no difference")
  func spellings() throws {
    let json = definition("com.example.json", .processing) {
      $0.requirements.slots = 3
      $0.budget = .seconds(90)
      $0.work = Work(command: ["/bin/true"], environment: ["A": "b"], onExpiry: .terminate)
    }
    #expect(try definitions("json") == [json])
    let quoted = definition("com.example.quoted", .continued) {
      $0.title = "042"
      $0.budget = .seconds(600)
      $0.priority = .utility
      $0.requirements.network = .any
    }
    #expect(try definitions("quoted-everything") == [quoted])
    #expect(
      try definitions("crlf-line-ends") == [definition("com.example.windows", .processing) { $0.title = "Windows" }])
    #expect(try definitions("byte-order-mark") == [definition("com.example.marked", .processing)])
  }

  @Test("what is doubtful is a warning and does not fail")
  func warnings() throws {
    let specification = try Corpus.read("warnings.yaml", in: "good")
    #expect(specification.definitions.count == 6)
    #expect(
      specification.problems.map(\.headline) == [
        "warnings.yaml:4:1: warning: 'earliestBeginDate' is ignored: kind continued starts at once",
        "warnings.yaml:4:20: warning: 'earliestBeginDate' is more than a week away; it is accepted, and nothing "
          + "starts before it",
        "warnings.yaml:8:17: warning: a refresh is launched at most every 15 minutes, however often it repeats; "
          + "'allowFrequent: true' lifts that",
        "warnings.yaml:12:20: warning: 'earliestBeginDate' is more than a week away; it is accepted, and nothing "
          + "starts before it",
        "warnings.yaml:16:20: warning: 'earliestBeginDate' is in the past and delays nothing",
        "warnings.yaml:21:3: warning: './run.sh' is relative, and without 'work.directory' each launch of a "
          + "coordinator starts in an empty folder; set the directory or write an absolute path",
        "warnings.yaml:22:3: warning: '*.txt' is relative, and without 'work.directory' each launch of a "
          + "coordinator starts in an empty folder; set the directory or write an absolute path",
        "warnings.yaml:29:3: warning: 'work.terminateBefore' changes nothing: with 'onExpiry: terminate' SIGTERM comes "
          + "at once; remove one of them",
      ])
    #expect(try Corpus.read("warnings.yaml", in: "good", directory: .folderOfFile).problems.count == 6)
  }
}

@Suite("Notes on valid files")
struct NoteTests {
  private let head = "identifier: com.example.dump\nkind: processing\n"

  private func specification(
    _ text: String, exists: (@Sendable (String) -> Bool)? = nil, hasFile: (@Sendable (String) -> Bool)? = nil
  ) -> Specification {
    Specification(
      parsing: Source(name: "job.yaml", folder: "/srv/jobs", text: text),
      options: SpecificationOptions(now: Corpus.now, exists: exists, hasFile: hasFile))
  }

  @Test(
    "a command without items gets a note that it may start again, and has only the limits that it sets",
    arguments: ["refresh", "processing", "continued"])
  func onePiece(kind: String) throws {
    let job = "identifier: com.example.dump\nkind: \(kind)\ntitle: T\nwork: {command: [pg_dump, all]}\n"
    let dump = specification(job)
    #expect(dump.problems == [])
    let note = try #require(dump.findings.first)
    #expect(dump.findings.count == 1)
    #expect(note.severity == .note && note.position == Position(line: 4, column: 1))
    #expect(note.message.contains("the command starts again from the beginning"))
    #expect(note.message.contains("'budget' and 'stallAfter' set one"))
    #expect(dump.definitions[0].definition.budget == nil)

    let bounded = specification(job + "budget: 20m\n")
    #expect(bounded.findings.map(\.severity) == [.note])
    #expect(bounded.findings[0].message.contains("A launch that 'budget' ends counts as an interruption"))
    #expect(bounded.definitions[0].definition.budget == .seconds(1200))
  }

  @Test("items that cannot be read are an error, and no note says that there are none")
  func wrongItems() {
    let wrong = specification(head + "work: {command: [x], items: {}}\n")
    #expect(wrong.findings.map(\.severity) == [.error])
  }

  @Test("items, and Swift handlers, have the budget of their kind and no note")
  func others() {
    let items = specification(head + "work: {command: [x], items: {range: 1...3}}\n")
    #expect(items.findings == [])
    #expect(items.definitions[0].definition.budget == .seconds(600))
    #expect(specification(head).findings == [])
    #expect(specification(head).definitions[0].definition.budget == .seconds(600))
  }

  @Test("with the check on, a missing folder or program is a warning")
  func missingFiles() {
    let job = head + "work: {command: [./run.sh], directory: data, items: {range: 1...3}}\n"
    #expect(specification(job).findings == [])
    #expect(specification(job, exists: { _ in true }).findings == [])
    let folder = specification(job, exists: { _ in false }).findings
    #expect(
      folder.map(\.message) == [
        "there is no folder '/srv/jobs/data' on this machine; each host that runs the job needs it"
      ])
    let program = specification(job, exists: { $0 == "/srv/jobs/data" }).findings
    #expect(
      program.map(\.message) == [
        "there is no program '/srv/jobs/data/run.sh' on this machine; each host that runs the job needs it"
      ])
    #expect(program.map(\.severity) == [.warning])
    // A program that is searched in PATH cannot be checked.
    #expect(
      specification(head + "work: {command: [run], items: {range: 1...3}}\n", exists: { _ in false }).findings == [])
  }

  @Test(
    "a script beside the file that the command does not find is a warning, with what to do",
    arguments: [
      ("[load.py]", "", "is beside this file, but a program without '/' is looked for on the PATH of the worker only"),
      ("[python3, load.py]", "", "is beside this file, but the command runs in an empty folder of its host"),
      ("[./load.py]", ", directory: /data", "is beside this file, but the command runs in '/data'"),
      ("[python3, ./load.py]", ", directory: /data", "is beside this file, but the command runs in '/data'"),
    ])
  func scriptBeside(command: String, directory: String, message: String) throws {
    let job = head + "work: {command: \(command)\(directory), items: {range: 1...3}}\n"
    let found = specification(job, hasFile: { $0 == "/srv/jobs/load.py" }).problems
    #expect(found.count == 1)
    let warning = try #require(found.first)
    #expect(warning.severity == .warning)
    #expect(warning.message.contains(message))
    let remedy = "write its absolute path, or 'directory: /srv/jobs'"
    #expect(warning.message.hasSuffix(command == "[load.py]" ? "\(remedy) with './load.py'" : remedy))
    #expect(specification(job, hasFile: { _ in false }).problems == [])
  }

  @Test(
    "a word that is found, or that names no file, is no reason for a warning",
    arguments: [
      "command: [./load.py], directory: /srv/jobs", "command: [./load.py], directory: .",
      "command: [python3, load.py], directory: /data", "command: [python3, /srv/jobs/load.py]",
      "command: [python3, -, load, .., \"a b.py\"]",
    ])
  func foundScript(work: String) {
    let job = head + "work: {\(work), items: {range: 1...3}}\n"
    #expect(
      specification(job, hasFile: { ["/srv/jobs/load.py", "/data/load.py", "/srv/jobs/load"].contains($0) }).problems
        == [])
  }

  @Test("sandbox is read; without it, the owner of the host decides")
  func sandbox() {
    func levels(_ work: String) -> [SandboxLevel?] {
      specification(head + work).definitions.map(\.definition.work?.sandbox)
    }
    #expect(levels("work: {command: [x], items: {range: 1...3}, sandbox: basic}\n") == [.basic])
    #expect(levels("work: {command: [x], items: {range: 1...3}, sandbox: strict}\n") == [.strict])
    #expect(levels("work: {command: [x], items: {range: 1...3}}\n") == [nil])
    let none = specification(head + "work: {command: [x], items: {range: 1...3}, sandbox: none}\n")
    #expect(none.definitions.isEmpty)
  }

  @Test("user is read; a number, and files that the worker would read as root, are refused")
  func user() {
    func users(_ work: String) -> [String?] {
      specification(head + "work: {command: [/x], directory: /srv, \(work)}\n").definitions.map(\.definition.work?.user)
    }
    #expect(users("items: {range: 1...3}, user: batonjob") == ["batonjob"])
    #expect(users("items: {range: 1...3}") == [nil])
    for bad in [
      "items: {range: 1...3}, user: \"1000\"", "items: {range: 1...3}, user: \"a b\"",
      "items: {lines: /etc/shadow}, user: a",
      "items: {glob: \"*\"}, user: a", "user: [a]",
    ] { #expect(users(bad).isEmpty, "\(bad)") }
  }

  @Test("failureOutput is read; without it, it stays nil")
  func failureOutput() {
    let job = head + "work: {command: [x], items: {range: 1...3}, failureOutput: none}\n"
    #expect(specification(job).definitions.map(\.definition.work?.failureOutput) == [FailureOutput.none])
    let plain = specification(head + "work: {command: [x], items: {range: 1...3}}\n")
    #expect(plain.definitions.map(\.definition.work?.failureOutput) == [nil])
  }
}
