import BatonModel

/// Draws values of every shape from a seed. The same seed draws the same values.
struct Draw {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int(truncatingIfNeeded: next() >> 1) % (range.upperBound - range.lowerBound + 1) + range.lowerBound
  }
  mutating func flag() -> Bool { next() & 1 == 1 }
  mutating func maybe<Value>(_ draw: (inout Draw) -> Value) -> Value? { flag() ? draw(&self) : nil }
  mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }
  mutating func some<Value>(_ draw: (inout Draw) -> Value) -> [Value] { (0..<number(0...4)).map { _ in draw(&self) } }

  mutating func wide() -> Int64 {
    switch number(0...5) {
    case 0: 0
    case 1: .max
    case 2: .min
    case 3: -1
    default: Int64(bitPattern: next())
    }
  }
  mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
  mutating func text() -> String {
    one(of: ["", "a", "naïve", "日本語", "two\nlines", "nul\u{0}", "e\u{301}", "👩‍👩‍👧", String(repeating: "x", count: 300)])
  }
  mutating func seconds() -> Duration { .milliseconds(number(0...100_000_000)) }
}

extension Draw {
  mutating func launch() -> LaunchKey {
    LaunchKey(request: RequestID(wide()), number: one(of: [0, 1, 7, Int(Int32.max)]))
  }
  mutating func identifier() -> JobIdentifier { JobIdentifier(one(of: ["a", "com.example.a-b_1", "X.9"]))! }
  mutating func pattern() -> IdentifierPattern { IdentifierPattern(one(of: ["a", "com.example.*", "X.9"]))! }
  mutating func reason() -> ExpiryReason {
    let by = text()
    return one(of: [
      .cancelled(by: by), .budgetSpent, .stalled, .leaseLost, .superseded, .draining, .evicted, .paused, .pausedByOwner,
      .outsideHours, .labelLost, .gpuLost, .powerLost, .batteryLow, .lowPowerMode, .thermal, .networkLost, .hostBusy,
      .allowanceSpent, .preempted,
      .simulated(as: nil), .simulated(as: .thermal),
    ])
  }
  mutating func outcome() -> LaunchOutcome {
    let (text, reason) = (text(), reason())
    return one(of: [.finished, .failed(text), .expired(reason), .lost])
  }
  mutating func reading<Value>(_ draw: (inout Draw) -> Value) -> Reading<Value> {
    Reading(maybe(draw), source: text(), raw: text(), age: maybe { $0.seconds() })
  }
  mutating func ownersWord() -> OwnersWord {
    let (by, until) = (text(), Timestamp(nanoseconds: wide()))
    return one(of: [
      .accepting, .paused(by: by, until: nil), .paused(by: by, until: until), .outsideHours(until: until),
    ])
  }
  mutating func gpu() -> GPU { GPU(id: text(), name: text(), memoryBytes: wide(), isPresent: flag()) }
  mutating func conditions() -> Conditions {
    Conditions(
      power: reading { $0.one(of: PowerSource.allCases) }, battery: reading { $0.number(0...100) },
      lowPowerMode: reading { $0.flag() }, thermal: reading { $0.one(of: ThermalState.allCases) },
      network: reading { $0.one(of: NetworkState.allCases) }, isIdle: reading { $0.flag() },
      gpus: reading { draw in draw.some { $0.gpu() } },
      labels: reading { draw in Dictionary(draw.some { ($0.text(), $0.text()) }) { first, _ in first } },
      owner: ownersWord())
  }
  mutating func capabilities() -> Capabilities {
    Capabilities(
      slots: number(0...10_000), kinds: Set(some { $0.one(of: JobKind.allCases) }), handlers: some { $0.pattern() },
      runsCommands: flag(), permittedIdentifiers: some { $0.pattern() }, dailyAllowance: maybe { $0.seconds() },
      sandbox: maybe { draw in
        HostSandbox(
          required: draw.maybe { $0.one(of: SandboxLevel.allCases) },
          available: draw.maybe { $0.one(of: SandboxLevel.allCases) }, problem: draw.text())
      },
      permissions: maybe { draw in
        CommandPermissions(
          commands: draw.maybe { $0.paths() }, directories: draw.maybe { $0.paths() }, network: draw.flag(),
          runsCommands: draw.flag(), secrets: draw.maybe { $0.permittedSecrets() },
          users: draw.maybe { $0.one(of: [["batonjob"], ["a", "b.c"]]) },
          principals: draw.maybe { $0.some { $0.one(of: ["alice", "ci-*"]) }.compactMap { PrincipalPattern($0) } })
      })
  }
  /// At least one, because none and `nil` are the same on the wire.
  mutating func permittedSecrets() -> [SecretPermission] {
    let files = ["db/password", "db/*", "**"].compactMap { SecretPattern($0) }
    return [SecretPermission(files: one(of: files), identifiers: some { $0.pattern() })]
  }
  mutating func paths() -> [PathPattern] {
    some { $0.one(of: ["/usr/bin/true", "/opt/jobs/**", "/srv/a b/*.sh"]) }.compactMap { PathPattern($0) }
  }
  mutating func page() -> ItemPage {
    ItemPage(launch: launch(), start: number(0...Int.max / 2), items: some { $0.text() }, isLast: flag())
  }
  mutating func trace() -> TraceContext {
    TraceContext(traceID: TraceID(bytes: [1] + bytes(15))!, spanID: SpanID(bytes: [1] + bytes(7))!, isSampled: flag())
  }
}

extension Draw {
  static let workerKinds = 0...12

  mutating func workerMessage(_ kind: Int) -> WorkerMessage {
    switch kind {
    case 0:
      .hello(
        Hello(
          host: HostName("h" + text().prefix(200)), incarnation: Incarnation("i" + text()), version: text(),
          capabilities: capabilities(), conditions: conditions(),
          running: some { draw in RunningLaunch(launch: draw.launch(), gpus: draw.some { $0.number(0...99) }) },
          receipts: (0..<number(0...3)).map { _ in receipt() }))
    case 1: .heartbeat(number: Int(wide()))
    case 2: .conditions(conditions())
    case 3: .items(page())
    case 4: .itemsWanted(launch(), start: Int(wide()), count: number(0...Int(Int32.max)))
    case 5:
      .checkpoint(checkpoint())
    case 6:
      .update(
        LaunchUpdate(
          launch: launch(), title: maybe { $0.text() }, subtitle: maybe { $0.text() },
          completedUnits: maybe { $0.wide() }, totalUnits: maybe { $0.wide() }))
    case 7: .output(OutputChunk(launch: launch(), bytes: bytes(number(0...9))))
    case 8: .expiring(launch(), reason())
    case 9:
      .ended(
        Ending(
          launch: launch(), outcome: outcome(), isGraceful: flag(), result: maybe { $0.one(of: RefreshResult.allCases) }
        ))
    case 10: .overran(launch(), reason())
    case 12: .submission(launch(), submission())
    default: .draining
    }
  }

  static let coordinatorKinds = 0...14

  mutating func coordinatorMessage(_ kind: Int) -> CoordinatorMessage {
    switch kind {
    case 0: .welcome(leaseTerm: seconds())
    case 1: .refused(text(), isFinal: flag())
    case 2: .heartbeatAnswered(number: Int(wide()))
    case 3: .definition(DefinitionID(wide()), definition())
    case 4: .launch(assignment())
    case 5: .items(page())
    case 6: .itemsCommitted(launch(), count: number(0...Int.max / 2), isFrozen: flag())
    case 7: .committed(launch(), batch: Int(wide()))
    case 8: .expire(launch(), reason())
    case 9: .withdraw(launch(), text())
    case 10: .refuse(launch(), text())
    case 12: .receipt(receipt())
    case 14: .submitted(launch(), name: word(), submissionAnswer())
    case 11: .simulate(overrides(), lasting: seconds())
    default: .endingCommitted(launch())
    }
  }

  private mutating func submission() -> LaunchSubmission {
    LaunchSubmission(
      name: word(), identifier: identifier(), payload: maybe { $0.bytes($0.number(0...9)) },
      earliestBeginDate: maybe {
        $0.flag()
          ? .afterSubmission(.milliseconds($0.number(0...1 << 30)))
          : .at(Timestamp(nanoseconds: Int64($0.number(0...1 << 60))))
      }, priority: maybe { $0.one(of: Priority.allCases) }, parent: maybe { $0.trace() })
  }

  private mutating func submissionAnswer() -> LaunchSubmissionAnswer {
    flag()
      ? .refused(code: word(), message: text())
      : .accepted(
        AcceptedSubmission(
          identifier: identifier(), number: Int(wide()), state: one(of: RequestState.allCases),
          eligibleAt: Timestamp(nanoseconds: wide()), replaced: flag(), isRepeat: flag()))
  }

  mutating func receipt() -> Receipt { Receipt(store: text(), tenure: wide(), sequence: wide()) }

  private mutating func overrides() -> ConditionOverrides {
    ConditionOverrides(
      power: maybe { $0.one(of: PowerSource.allCases) }, battery: maybe { $0.number(0...100) },
      lowPowerMode: maybe { $0.flag() }, thermal: maybe { $0.one(of: ThermalState.allCases) },
      network: maybe { $0.one(of: NetworkState.allCases) }, isIdle: maybe { $0.flag() })
  }

  mutating func checkpoint() -> Checkpoint {
    var checkpoint = Checkpoint(
      launch: launch(), batch: Int(wide()), cursor: maybe { $0.bytes($0.number(0...9)) }, completedUnits: wide(),
      totalUnits: maybe { $0.wide() }, subtitle: maybe { $0.text() }, reachesEnd: flag(), isEndOnly: flag())
    checkpoint.result = maybe { $0.result() }
    return checkpoint
  }

  /// JSON of each kind.
  mutating func result() -> JobResult {
    JobResult(
      trusted: Array(one(of: ["null", "-1.5e3", "\"é\\u0000\"", "[[], {}, true]", " {\"a\": {\"a\": [1]}} "]).utf8))
  }

  private mutating func input() -> RequestInput {
    RequestInput(
      identifier(), number: number(1...Int(Int32.max)), state: one(of: [.succeeded, .failed, .cancelled]),
      result: maybe { $0.result() },
      shards: some { draw in RequestInput.ShardResult(shard: draw.number(0...70_000), result: draw.result()) },
      isCut: flag())
  }

  mutating func assignment() -> Assignment {
    var assignment = plainAssignment()
    assignment.inputs = some { $0.input() }
    return assignment
  }

  private mutating func plainAssignment() -> Assignment {
    Assignment(
      launch: launch(), identifier: identifier(), requestNumber: Int(wide()), definition: DefinitionID(wide()),
      priority: one(of: Priority.allCases), payload: maybe { $0.bytes($0.number(0...9)) },
      progress: Progress(
        batches: Int(wide()), cursor: maybe { $0.bytes($0.number(0...9)) }, completedUnits: wide(),
        totalUnits: maybe { $0.wide() }),
      frozenItems: maybe { $0.number(0...99) }, repeatsBatch: flag(), principal: text(), trace: trace(),
      startedAt: Timestamp(nanoseconds: wide()), gpus: some { $0.number(0...99) }, pendingExpiry: maybe { $0.reason() },
      isSimulated: flag())
  }

  /// A definition that keeps every rule, because the wire accepts no other.
  mutating func definition() -> Definition {
    let kind = one(of: JobKind.allCases)
    var definition = Definition(pattern: pattern(), kind: kind)
    definition.title = kind == .continued ? word() : maybe { $0.word() }
    definition.subtitle = maybe { $0.word() }
    definition.requirements = Requirements(
      externalPower: flag(), network: maybe { $0.one(of: NetworkRequirement.allCases) },
      gpu: maybe { draw in
        GPURequirement(count: draw.number(1...9), memoryBytes: draw.maybe { Int64($0.number(1...1 << 40)) })
      },
      requiresIdle: flag(), slots: number(1...99))
    if kind == .continued { definition.strategy = one(of: Strategy.allCases) }
    definition.priority = one(of: Priority.allCases)
    definition.budget = maybe { .milliseconds($0.number(1...1 << 40) % 300_000_000_000 + 1) }
    definition.retry = RetryRule(limit: number(0...9), backoff: .milliseconds(number(0...1 << 30)))
    definition.retry.maxBackoff = maybe { definition.retry.backoff + .milliseconds($0.number(0...1 << 30)) }
    definition.notify = maybe { draw in
      var rule = NotifyRule()
      for kind in NotificationKind.keys where draw.flag() { rule[kind] = [ReceiverName("ops")!, ReceiverName("a-1")!] }
      let patience = NotifyRule.Patience(
        after: .milliseconds(draw.number(1_000...90_000_000)), to: [ReceiverName("b")!])
      rule.waits = draw.flag() || rule.isEmpty ? patience : nil
      return rule
    }
    definition.retry.jitter = maybe { .milliseconds($0.number(0...86_400_000)) }
    let kinds = [FailureKind.exit(number(1...255))] + some { _ in .timedOut }
    if flag() { definition.retry.on = kinds } else { definition.retry.notOn = maybe { _ in kinds } }
    definition.batchTimeout = maybe { .milliseconds($0.number(1_000...600_000_000)) }
    if definition.pattern.isWildcard { definition.maxRunning = maybe { $0.number(1...9) } }
    definition.pendingLimit = maybe { $0.number(1...9) }
    if kind == .refresh { definition.allowFrequent = flag() }
    definition.earliestBeginDate = maybe {
      $0.flag()
        ? .afterSubmission(.milliseconds($0.number(0...1 << 30)))
        : .at(Timestamp(nanoseconds: Int64($0.number(0...1 << 60))))
    }
    if kind != .continued, !definition.pattern.isWildcard {
      definition.repeatEvery = maybe { .milliseconds($0.number(1...1 << 30)) }
      if definition.repeatEvery == nil, definition.earliestBeginDate == nil {
        definition.schedule = maybe {
          JobSchedule(
            cron: try! CronExpression("\($0.number(0...59)) */2 L,15 * MON-FRI"), timeZone: "Europe/Berlin",
            jitter: .milliseconds($0.number(0...3_600_000)),
            exclude: [CivilDate(daysSince1970: $0.number(0...30_000))], missed: $0.one(of: MissedRuns.allCases),
            overlap: $0.one(of: Overlap.allCases), from: Timestamp(nanoseconds: Int64($0.number(0...1 << 59))),
            until: Timestamp(nanoseconds: Int64((1 << 59) + $0.number(1...1 << 59))))
        }
      }
    }
    definition.closingWindow = maybe { .milliseconds($0.number(1_000...600_000)) }
    definition.stallAfter = maybe { .milliseconds($0.number(1_000...86_400_000)) }
    definition.dailyAllowance = maybe { .milliseconds($0.number(1_000...86_400_000)) }
    definition.pokeSpacing = maybe { .milliseconds($0.number(0...86_400_000)) }
    definition.maySubmit = maybe { [$0.pattern()] }
    let next = definition.pattern.isWildcard ? "next.${wildcard}" : "next"
    definition.onSuccess = maybe { $0.one(of: [FollowUp(next)!, FollowUp(next, "report")!]) }
    definition.onFailure = maybe { _ in FollowUp("repair")! }
    if definition.repeatEvery == nil, definition.schedule == nil, definition.strategy != .fail {
      definition.after = maybe { [Dependency(JobReference(next)!, on: $0.one(of: Dependency.End.allCases))] }
    }
    let key = KeyTemplate(definition.pattern.isWildcard ? "key/${wildcard}" : "key")
    definition.concurrency = maybe { ConcurrencyLimit(key: key, limit: $0.number(1...100_000)) }
    definition.rate = maybe { draw in
      let limit = draw.number(1...1_000_000)
      let per = Duration.milliseconds(draw.number(1_000...86_400_000))
      return RateLimitByKey(key: key, rule: StartRate(limit: limit, per: per, burst: draw.number(1...limit)))
    }
    definition.work = maybe { $0.work() }
    return definition
  }

  private mutating func work() -> Work {
    let (list, text, number) = ([word()] + some { $0.word() }, word(), Int64(number(-9...9)))
    var work = Work(
      command: [word()] + some { $0.word() }, directory: maybe { "/" + $0.word() },
      items: maybe { $0.one(of: [.list(list), .range(number...(number + 3)), .lines(text), .glob(text)]) },
      batchSize: self.number(1...99), pass: one(of: ItemPassing.allCases),
      environment: Dictionary(some { ("K\($0.number(0...9))", $0.word()) }, uniquingKeysWith: { first, _ in first }),
      secrets: maybe { draw in
        [
          "S1": Secret(
            file: draw.one(of: ["db/password", "token"]), form: draw.maybe { $0.one(of: SecretForm.allCases) })
        ]
      },
      onExpiry: one(of: ExpiryBehaviour.allCases), terminateBefore: maybe { .milliseconds($0.number(0...1_000)) },
      sandbox: maybe { $0.one(of: SandboxLevel.allCases) })
    // A command with a user of its own cannot have items that the worker reads.
    if work.items?.needsExpansion != true { work.user = maybe { $0.one(of: ["batonjob", "a.b-c"]) } }
    return work
  }

  /// A text of one line with letters of several scripts and without control characters.
  mutating func word() -> String {
    String((0..<number(1...12)).map { _ in one(of: Array("aZ09 -_.*/\"'\\é漢🙂$")) }) + "x"
  }
}
