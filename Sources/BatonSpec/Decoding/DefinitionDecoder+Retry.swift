import BatonModel

extension DefinitionDecoder {
  /// Reads `retry` and `batchTimeout`. The work and the budget must have been read before.
  mutating func readRetry(_ fields: Fields, into definition: inout Definition) {
    definition.retry = retry(fields["retry"], of: definition) ?? definition.retry
    definition.batchTimeout = duration(fields["batchTimeout"], in: Definition.Limits.batchTimeout)
    guard let field = fields["batchTimeout"], let timeout = definition.batchTimeout,
      let budget = definition.budget, budget <= timeout
    else { return }
    report.warning(
      "\(field.label) changes nothing: a launch ends before, after its budget of \(DurationText.text(budget)); shorten it, "
        + "or set a longer 'budget'", at: field.value.position)
  }

  private mutating func retry(_ field: Field?, of definition: Definition) -> RetryRule? {
    guard let field, let fields = mapping(field, .retry, example: "{limit: 3, backoff: 30s}") else { return nil }
    var rule = RetryRule()
    if let limit = integer(fields["limit"], in: Definition.Limits.retries) { rule.limit = limit }
    if let backoff = parsed(fields["backoff"], DurationText.examples, DurationText.parse) { rule.backoff = backoff }
    rule.maxBackoff = parsed(fields["maxBackoff"], DurationText.examples, DurationText.parse)
    if let longest = rule.maxBackoff, longest < rule.backoff, let field = fields["maxBackoff"] {
      let origin = fields["backoff"] == nil ? "its default, " : ""
      refuse(field, "at least 'retry.backoff' (\(origin)\(DurationText.text(rule.backoff)))")
    }
    rule.jitter = duration(fields["jitter"], in: Definition.Limits.retryJitter)
    rule.on = kinds(fields["on"], of: definition)
    rule.notOn = kinds(fields["notOn"], of: definition)
    if fields["on"] != nil, let field = fields["notOn"] {
      report.error(
        "\(field.label) does not go with 'retry.on', which names all failures that are tried again; remove one of them",
        at: field.keyPosition)
    }
    readSkips(fields, of: definition, into: &rule)
    return rule
  }

  private mutating func readSkips(_ fields: Fields, of definition: Definition, into rule: inout RetryRule) {
    rule.skipBatchAfter = integer(fields["skipBatchAfter"], in: Definition.Limits.skips)
    rule.skipLimit = integer(fields["skipLimit"], in: Definition.Limits.skips)
    if let field = fields["skipLimit"], fields["skipBatchAfter"] == nil {
      report.error(
        "\(field.label) needs 'retry.skipBatchAfter', which says after how many failures a batch is skipped",
        at: field.keyPosition)
    }
    guard let field = fields["skipBatchAfter"], let after = rule.skipBatchAfter else { return }
    if definition.isInOnePiece {
      report.error(
        "\(field.label) needs 'work.items': without them the command runs in one piece, and has no batch to skip",
        at: field.keyPosition)
    }
    if after > rule.limit + 1 {
      report.error(
        "\(field.label) must be at most \(rule.limit + 1), not \(after): after \(rule.limit) retries the request has "
          + "failed; lower it, or raise 'retry.limit'", at: field.value.position)
    }
  }

  /// The kinds of failure in a list; `nil` if there is no list.
  private mutating func kinds(_ field: Field?, of definition: Definition) -> [FailureKind]? {
    let example = "a list of exit statuses, signals and kinds of failure such as [75, SIGSEGV, timedOut]"
    guard let field, let nodes = list(field, example) else { return nil }
    guard Definition.Limits.failureKinds.contains(nodes.count) else {
      report.error(
        "\(field.label) has \(nodes.count) failures; a list has 1 to \(Definition.Limits.failureKinds.upperBound)",
        at: field.value.position)
      return nil
    }
    var kinds: [FailureKind] = []
    for node in nodes {
      guard let kind = kind(node, in: field, of: definition) else { continue }
      if kinds.contains(kind) {
        report.error("\(field.label) names \(quoted(kind.rawValue)) twice; remove one of them", at: node.position)
      }
      kinds.append(kind)
    }
    return kinds
  }

  /// A whole number is an exit status, and a name that begins with `SIG` a signal. Everything else is a name that
  /// `error.type` may have. Those of commands are known; a Swift handler has its own.
  private mutating func kind(_ node: Node, in field: Field, of definition: Definition) -> FailureKind? {
    guard let text = literal(node, label: "a value of \(field.label)") else { return nil }
    if let number = Int(text) {
      if FailureKind.statuses.contains(number) { return .exit(number) }
      let statuses = "\(FailureKind.statuses.lowerBound) to \(FailureKind.statuses.upperBound)"
      report.error(
        "\(quoted(text)) in \(field.label) is no exit status of a failure; those are \(statuses)", at: node.position)
      return nil
    }
    if text.hasPrefix("SIG") {
      if FailureKind.signals.contains(text) { return .signal(text) }
      return unknown(text, among: FailureKind.signals, "signal", in: field, at: node.position)
    }
    if let signal = FailureKind.signals.first(where: { [$0, String($0.dropFirst(3))].contains(text.uppercased()) }) {
      report.error(
        "\(quoted(text)) in \(field.label) is no failure, did you mean \(quoted(signal))?", at: node.position)
      return nil
    }
    let kind = FailureKind(rawValue: text)
    if !kind.isValid {
      report.error("a value of \(field.label) is not one line of 1 to 255 bytes", at: node.position)
      return nil
    }
    if definition.work?.command.isEmpty == false, !FailureKind.ofCommands.contains(text) {
      return unknown(text, among: FailureKind.ofCommands, "failure of a command", in: field, at: node.position)
    }
    return kind
  }

  private mutating func unknown(
    _ text: String, among known: [String], _ what: String, in field: Field, at position: Position
  ) -> FailureKind? {
    let nearest = Suggestion.nearest(to: text, among: known).map { ", did you mean \(quoted($0))?" }
    let others = what == "signal" ? "" : ", an exit status such as 75 or a signal such as SIGKILL"
    report.error(
      "\(quoted(text)) in \(field.label) is no \(what)"
        + (nearest ?? "; write \(known.joined(separator: ", "))\(others)"), at: position)
    return nil
  }
}
