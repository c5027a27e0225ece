package import BatonModel

/// A value of a job file, as it is written.
package indirect enum DefinitionValue: Hashable, Sendable {
  case text(String)
  case number(Int64)
  case flag(Bool)
  case list([DefinitionValue])
  /// The keys in the order in which they are written.
  case mapping([Entry])

  package struct Entry: Hashable, Sendable {
    package var key: String
    package var value: DefinitionValue

    init(_ key: String, _ value: DefinitionValue) { (self.key, self.value) = (key, value) }
  }
}

extension DefinitionValue {
  /// A definition as a job file has it. Keys whose value is the default of the kind are left out, and a key that can be
  /// written in several ways is written in one of them.
  ///
  /// The reader of job files turns the text back into the same definition. There is one exception: a program can hand
  /// over values that no job file can express, such as half a millisecond, and they are rounded down.
  package init(_ definition: Definition) {
    var fields = FieldWriter()
    fields.add("identifier", definition.pattern.rawValue)
    fields.add("kind", definition.kind.rawValue)
    fields.add("title", definition.title)
    fields.add("subtitle", definition.subtitle)
    fields.addRequirements(definition)
    fields.addLimits(definition)
    fields.addSchedule(definition)
    fields.add("work", fields.work(definition))
    self = .mapping(fields.entries)
  }
}

/// Writes the keys of one mapping.
private struct FieldWriter {
  var entries: [DefinitionValue.Entry] = []

  mutating func add(_ key: String, _ value: DefinitionValue?) {
    if let value { entries.append(DefinitionValue.Entry(key, value)) }
  }

  mutating func add(_ key: String, _ text: String?) { add(key, text.map(DefinitionValue.text)) }
  mutating func add(_ key: String, _ number: Int?) { add(key, number.map { .number(Int64($0)) }) }
  mutating func add(_ key: String, _ duration: Duration?) { add(key, duration.map(DurationText.text)) }

  /// Adds the key unless its value is the default.
  mutating func add(_ key: String, _ flag: Bool, default usual: Bool = false) {
    if flag != usual { add(key, .flag(flag)) }
  }

  mutating func addRequirements(_ definition: Definition) {
    let needs = definition.requirements
    add("requiresExternalPower", needs.externalPower)
    add("network", needs.network?.rawValue)
    add("gpu", needs.gpu.map(gpu))
    add("requiredLabels", needs.labels.map { sorted($0, DefinitionValue.text) })
    add("preferredLabels", needs.preferredLabels.map { sorted($0, label) })
    add("requiresIdle", needs.requiresIdle, default: definition.kind == .processing)
    if needs.slots != 1 { add("slots", needs.slots) }
  }

  mutating func addLimits(_ definition: Definition) {
    if definition.strategy != .queue { add("strategy", definition.strategy.rawValue) }
    if definition.priority != definition.kind.defaultPriority { add("priority", definition.priority.name) }
    let budget = definition.isInOnePiece ? nil : definition.kind.defaultBudget
    if definition.budget != budget { add("budget", definition.budget) }
    add("closingWindow", definition.closingWindow)
    add("batchTimeout", definition.batchTimeout)
    add("stallAfter", definition.stallAfter)
    add("dailyAllowance", definition.dailyAllowance)
    add("retention", definition.retention)
    add("retry", retry(definition.retry))
    add("maxRunning", definition.maxRunning)
    add("concurrency", definition.concurrency.map(concurrency))
    add("rate", definition.rate.map(rate))
    add("pendingLimit", definition.pendingLimit)
  }

  mutating func addSchedule(_ definition: Definition) {
    add("allowFrequent", definition.allowFrequent)
    switch definition.earliestBeginDate {
    case .afterSubmission(let delay): add("earliestBeginDate", delay)
    case .at(let date): add("earliestBeginDate", DateText.text(date))
    case nil: break
    }
    add("repeat", definition.repeatEvery.map { every in mapping { $0.add("every", every) } })
    add("schedule", definition.schedule.map(schedule))
    add("pokeSpacing", definition.pokeSpacing)
    add("maySubmit", definition.maySubmit.map { .list($0.map { .text($0.rawValue) }) })
    add("after", definition.after.map { .list($0.map(dependency)) })
    for (key, next) in definition.followUps { add(key, followUp(next)) }
    add("notify", definition.notify.map(notify))
  }

  // MARK: Mappings

  func mapping(_ write: (inout FieldWriter) -> Void) -> DefinitionValue {
    var fields = FieldWriter()
    write(&fields)
    return .mapping(fields.entries)
  }

  private func sorted<Value>(_ values: [String: Value], _ written: (Value) -> DefinitionValue) -> DefinitionValue {
    .mapping(values.sorted { $0.key < $1.key }.map { DefinitionValue.Entry($0.key, written($0.value)) })
  }

  private func followUp(_ next: FollowUp) -> DefinitionValue {
    next.jobs.count == 1 ? .text(next.jobs[0].text) : .list(next.jobs.map { .text($0.text) })
  }

  private func schedule(_ schedule: JobSchedule) -> DefinitionValue {
    mapping { fields in
      fields.add("cron", schedule.cron.text)
      if schedule.timeZone != "UTC" { fields.add("timeZone", schedule.timeZone) }
      if schedule.jitter > .zero { fields.add("jitter", schedule.jitter) }
      if !schedule.exclude.isEmpty {
        fields.add("exclude", .list(schedule.exclude.map { .text($0.description) }))
      }
      if schedule.missed != .once { fields.add("missed", schedule.missed.rawValue) }
      if schedule.overlap != .wait { fields.add("overlap", schedule.overlap.rawValue) }
      fields.add("from", schedule.from.map { DateText.text($0) })
      fields.add("until", schedule.until.map { DateText.text($0) })
    }
  }

  private func concurrency(_ concurrency: ConcurrencyLimit) -> DefinitionValue {
    mapping { fields in
      fields.add("key", concurrency.key.text)
      fields.add("limit", concurrency.limit)
    }
  }

  private func rate(_ rate: RateLimitByKey) -> DefinitionValue {
    mapping { fields in
      fields.add("key", rate.key.text)
      fields.add("limit", rate.rule.limit)
      fields.add("per", rate.rule.per)
      if rate.rule.burst != StartRate.usualBurst { fields.add("burst", rate.rule.burst) }
    }
  }

  private func dependency(_ dependency: Dependency) -> DefinitionValue {
    mapping { fields in
      fields.add("identifier", dependency.identifier.text)
      if dependency.on != .success { fields.add("on", dependency.on.rawValue) }
    }
  }

  private func notify(_ rule: NotifyRule) -> DefinitionValue {
    func names(_ list: [ReceiverName]) -> DefinitionValue { .list(list.map { .text($0.rawValue) }) }
    return mapping { fields in
      for kind in NotificationKind.keys {
        fields.add(kind.rawValue, rule[kind].map(names))
        guard kind == .waits, let waits = rule.waits else { continue }
        fields.add(
          kind.rawValue,
          mapping { fields in
            fields.add("after", waits.after)
            fields.add("to", names(waits.to))
          })
      }
    }
  }

  private func gpu(_ gpu: GPURequirement) -> DefinitionValue {
    mapping { fields in
      fields.add("count", gpu.count)
      fields.add("memory", gpu.memoryBytes.map(SizeText.text))
    }
  }

  private func label(_ label: PreferredLabel) -> DefinitionValue {
    if label.weight == 1 { return .text(label.value) }
    return mapping { fields in
      fields.add("value", label.value)
      fields.add("weight", label.weight)
    }
  }

  private func retry(_ rule: RetryRule) -> DefinitionValue? {
    let usual = RetryRule()
    if rule == usual { return nil }
    return mapping { fields in
      if rule.limit != usual.limit { fields.add("limit", rule.limit) }
      if rule.backoff != usual.backoff { fields.add("backoff", rule.backoff) }
      fields.add("maxBackoff", rule.maxBackoff)
      fields.add("jitter", rule.jitter)
      fields.add("on", rule.on.map(kinds))
      fields.add("notOn", rule.notOn.map(kinds))
      fields.add("skipBatchAfter", rule.skipBatchAfter)
      fields.add("skipLimit", rule.skipLimit)
    }
  }

  /// The kinds of failure as job files write them: the number of an exit status, and the name of a signal.
  private func kinds(_ kinds: [FailureKind]) -> DefinitionValue {
    .list(
      kinds.map { kind in
        let words = kind.rawValue.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return .text(kind.rawValue) }
        switch words[0] {
        case "exit": return Int64(words[1]).map(DefinitionValue.number) ?? .text(kind.rawValue)
        case "signal": return .text(String(words[1]))
        default: return .text(kind.rawValue)
        }
      })
  }

  // MARK: Work

  func work(_ definition: Definition) -> DefinitionValue? {
    let value = mapping { fields in
      if let work = definition.work { fields.addWork(work) }
      if let spread = definition.spread { fields.addSpread(spread) }
      fields.add("transfers", definition.transfers.map { .list($0.map(fields.transfer)) })
    }
    return value == .mapping([]) ? nil : value
  }

  private mutating func addWork(_ work: Work) {
    add("command", .list(work.command.map(DefinitionValue.text)))
    add("directory", work.directory)
    add("items", work.items.map(items))
    if work.batchSize != 1 { add("batchSize", work.batchSize) }
    if work.pass != .arguments { add("pass", work.pass.rawValue) }
    if !work.environment.isEmpty { add("environment", sorted(work.environment, DefinitionValue.text)) }
    add("secrets", work.secrets.map { sorted($0, secret) })
    if work.onExpiry != .finishBatch { add("onExpiry", work.onExpiry.rawValue) }
    add("terminateBefore", work.terminateBefore)
    add("failureOutput", work.failureOutput?.rawValue)
    add("sandbox", work.sandbox?.rawValue)
    add("user", work.user)
  }

  private mutating func addSpread(_ spread: Spread) {
    if spread.lanes != 1 { add("spread", spread.lanes) }
    add("shardSize", spread.shardSize)
    add("shards", spread.shards)
    add("onShardFailure", spread.onShardFailure?.rawValue)
  }

  private func items(_ items: Items) -> DefinitionValue {
    mapping { fields in
      switch items {
      case .glob(let path): fields.add("glob", path)
      case .lines(let path): fields.add("lines", path)
      case .range(let range): fields.add("range", "\(range.lowerBound)...\(range.upperBound)")
      case .list(let items): fields.add("list", .list(items.map(DefinitionValue.text)))
      }
    }
  }

  func transfer(_ defined: DefinedTransfer) -> DefinitionValue {
    let transfer = defined.transfer
    return mapping { fields in
      fields.add("url", transfer.url)
      fields.add("to", transfer.to)
      if transfer.method != .get { fields.add("method", transfer.method.rawValue) }
      fields.add("file", transfer.file)
      if !transfer.headers.isEmpty { fields.add("headers", sorted(transfer.headers, header)) }
      fields.add("sha256", transfer.sha256)
      fields.add("size", transfer.size.map { .number($0) })
      if transfer.group != Transfer.defaultGroup { fields.add("group", transfer.group) }
      fields.add("discretionary", transfer.isDiscretionary)
      if transfer.network != .any { fields.add("network", transfer.network.rawValue) }
      fields.add("allowsConstrained", transfer.allowsConstrained, default: true)
      if transfer.requestTimeout != Transfer.defaultRequestTimeout {
        fields.add("requestTimeout", transfer.requestTimeout)
      }
      if transfer.resourceTimeout != Transfer.defaultResourceTimeout {
        fields.add("resourceTimeout", transfer.resourceTimeout)
      }
      fields.add("earliestBeginDate", defined.delay)
      fields.add("earliestBeginDate", transfer.earliestBeginDate.map(DateText.text))
      fields.add("shared", transfer.isShared)
    }
  }

  private func header(_ header: TransferHeader) -> DefinitionValue {
    if header.secret == nil, header.variable == nil { return .text(header.text) }
    return mapping { fields in
      if !header.text.isEmpty { fields.add("text", header.text) }
      fields.add("secret", header.secret)
      fields.add("variable", header.variable)
    }
  }

  private func secret(_ secret: Secret) -> DefinitionValue {
    mapping { fields in
      fields.add("file", secret.file)
      fields.add("as", secret.form?.rawValue)
    }
  }
}
