import BatonModel

extension DefinitionDecoder {
  mutating func readSchedule(_ fields: Fields, into definition: inout Definition) {
    definition.allowFrequent = flag(fields["allowFrequent"]) ?? false
    definition.earliestBeginDate = earliestBeginDate(fields["earliestBeginDate"], repeats: fields["repeat"] != nil)
    definition.repeatEvery = repeatEvery(fields["repeat"], of: definition)
    guard let field = fields["schedule"] else { return }
    for key in ["repeat", "earliestBeginDate"] where fields[key] != nil {
      report.error(
        "'schedule' does not go with '\(key)': the schedule says when requests come; remove one of them",
        at: field.keyPosition)
    }
    definition.schedule = schedule(field)
  }

  mutating func readLimits(_ fields: Fields, into definition: inout Definition) {
    if let strategy = fields["strategy"].flatMap({ choice($0, Strategy.self) }) { definition.strategy = strategy }
    if let priority = priority(fields["priority"]) { definition.priority = priority }
    if let budget = positiveDuration(fields["budget"]) { definition.budget = budget }
    definition.maxRunning = integer(fields["maxRunning"], in: Definition.Limits.maxRunning)
    readKeys(fields, into: &definition)
    definition.pendingLimit = integer(fields["pendingLimit"], in: Definition.Limits.pending)
    definition.maySubmit = patterns(fields["maySubmit"])
    definition.after = dependencies(fields["after"], of: definition)
    definition.onSuccess = followUp(fields["onSuccess"], of: definition.pattern)
    definition.onFailure = followUp(fields["onFailure"], of: definition.pattern)
    definition.notify = notify(fields["notify"])
  }

  /// The job of `onSuccess` or `onFailure`, or the list of them.
  private mutating func followUp(_ field: Field?, of pattern: IdentifierPattern) -> FollowUp? {
    guard let field else { return nil }
    guard case .sequence(let nodes) = field.value.content else {
      return otherJob(field, than: pattern).map { FollowUp([$0]) }
    }
    guard Definition.Limits.followUps.contains(nodes.count) else {
      report.error(
        "\(field.label) has \(nodes.count) jobs; a list has 1 to \(Definition.Limits.followUps.upperBound)",
        at: field.value.position)
      return nil
    }
    var jobs: [JobReference] = []
    for (index, node) in nodes.enumerated() {
      let entry = Field(label: field.label.dropLast() + "[\(index)]'", keyPosition: node.position, value: node)
      guard let job = otherJob(entry, than: pattern) else { continue }
      if jobs.contains(job) {
        report.error("\(field.label) has \(quoted(job.text)) twice; remove one of them", at: node.position)
      }
      jobs.append(job)
    }
    return jobs.isEmpty ? nil : FollowUp(jobs)
  }

  private mutating func otherJob(_ field: Field, than pattern: IdentifierPattern) -> JobReference? {
    guard let job = reference(field, of: pattern) else { return nil }
    if job.pattern == pattern {
      return refused(field, "another job", hint: "; 'retry' and 'repeat' let a job come again")
    }
    return job
  }

  private mutating func reference(_ field: Field, of pattern: IdentifierPattern) -> JobReference? {
    guard let text = text(field) else { return nil }
    guard let reference = JobReference(text) else {
      return refused(
        field,
        "the identifier of a job such as com.example.repair, in a wildcard's definition also "
          + "com.example.repair.${wildcard}")
    }
    if reference.hasWildcard, !pattern.isWildcard {
      return refused(field, "an identifier without ${wildcard}, because this job's own identifier has no '*'")
    }
    return reference
  }

  /// The jobs of `after`; `nil` if there are none.
  private mutating func dependencies(_ field: Field?, of definition: Definition) -> [Dependency]? {
    let example = "a list such as [{identifier: com.example.fetch}]"
    guard let field, let nodes = list(field, example) else { return nil }
    for (key, isSet) in [("repeat", definition.repeatEvery != nil), ("schedule", definition.schedule != nil)]
    where isSet {
      report.error(
        "'after' does not go with '\(key)': such a job comes by itself, and not with a flow; remove one of them",
        at: field.keyPosition)
    }
    if definition.strategy == .fail {
      report.error(
        "'after' does not go with 'strategy: fail', which starts at once or not at all; remove one of them",
        at: field.keyPosition)
    }
    guard Definition.Limits.dependencies.contains(nodes.count) else {
      return refused(field, "a list of 1 to \(Definition.Limits.dependencies.upperBound) jobs")
    }
    var found: [Dependency] = []
    for (index, node) in nodes.enumerated() {
      let entry = Field(label: "'after[\(index)]'", keyPosition: node.position, value: node)
      guard let one = dependency(entry, of: definition.pattern) else { continue }
      if found.contains(where: { $0.identifier == one.identifier }) {
        report.error(
          "'after' has \(quoted(one.identifier.text)) twice; remove one of them", at: node.position)
      }
      found.append(one)
    }
    return found
  }

  private mutating func dependency(_ entry: Field, of pattern: IdentifierPattern) -> Dependency? {
    guard let fields = mapping(entry, .after, example: "{identifier: com.example.fetch, on: success}") else {
      return nil
    }
    guard let field = fields["identifier"] else {
      report.error(
        "key 'after.identifier' is missing; write after: [{identifier: com.example.fetch}]", at: entry.value.position)
      return nil
    }
    guard let reference = reference(field, of: pattern) else { return nil }
    if reference.pattern == pattern { return refused(field, "another job", hint: "; a job cannot wait for itself") }
    return Dependency(reference, on: fields["on"].flatMap { choice($0, Dependency.End.self) } ?? .success)
  }

  /// The identifiers that launches may submit; `nil` if there are none.
  private mutating func patterns(_ field: Field?) -> [IdentifierPattern]? {
    let example = "a list of identifiers such as [com.example.report, com.example.export.*]"
    guard let field, let nodes = list(field, example) else { return nil }
    guard Definition.Limits.submittedPatterns.contains(nodes.count) else {
      return refused(field, "a list of 1 to \(Definition.Limits.submittedPatterns.upperBound) identifiers")
    }
    var patterns: [IdentifierPattern] = []
    for node in nodes {
      guard let text = literal(node, label: "a value of \(field.label)") else { continue }
      guard let pattern = IdentifierPattern(text) else {
        report.error(
          "\(quoted(text)) in \(field.label) is no identifier, nor one followed by '.*', such as com.example.report",
          at: node.position)
        continue
      }
      if patterns.contains(pattern) {
        report.error("\(field.label) has \(quoted(text)) twice; remove one of them", at: node.position)
      }
      patterns.append(pattern)
    }
    return patterns
  }

  private mutating func priority(_ field: Field?) -> Priority? {
    guard let field else { return nil }
    return choice(field, among: Priority.allCases.map { ($0.name, $0) })
  }

  private mutating func repeatEvery(_ field: Field?, of definition: Definition) -> Duration? {
    guard let field, let fields = mapping(field, .repeat, example: "{every: 24h}") else { return nil }
    guard let every = fields["every"] else {
      report.error("key 'repeat.every' is missing; write repeat: {every: 24h}", at: field.keyPosition)
      return nil
    }
    guard let interval = positiveDuration(every) else { return nil }
    if definition.kind == .refresh, !definition.allowFrequent, interval < Definition.refreshSpacing {
      report.warning(
        "a refresh is launched at most every 15 minutes, however often it repeats; "
          + "'allowFrequent: true' lifts that", at: every.value.position)
    }
    return interval
  }

  /// - Parameter repeats: whether the job repeats. A past date is then where its repetitions are counted from.
  mutating func earliestBeginDate(_ field: Field?, repeats: Bool) -> EarliestBeginDate? {
    guard let field, let text = scalar(field, "a duration or an RFC 3339 date") else { return nil }
    if DateText.looksLikeDate(text) {
      guard let date = parsed(field, DateText.examples, DateText.parse) else { return nil }
      let delay = date - context.options.now
      if delay >= .zero || !repeats { warn(about: delay, of: field) }
      return .at(date)
    }
    let expected = "\(DurationText.examples), or \(DateText.examples)"
    guard let delay = parsed(field, expected, DurationText.parse) else { return nil }
    warn(about: delay, of: field)
    return .afterSubmission(delay)
  }

  private mutating func warn(about delay: Duration, of field: Field) {
    if delay > .seconds(7 * 86_400) {
      report.warning(
        "\(field.label) is more than a week away; it is accepted, and nothing starts before it",
        at: field.value.position)
    }
    if delay < .zero {
      report.warning("\(field.label) is in the past and delays nothing", at: field.value.position)
    }
  }
}
