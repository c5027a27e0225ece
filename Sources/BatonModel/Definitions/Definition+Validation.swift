// The rules that every definition must keep, whichever way it came: from a job file, from another client, from an old
// store or from another version of Baton.
//
// The reader of job files checks the same bounds, and reports line and column. It has one more rule, that a definition
// with a wildcard must not repeat. Here a repeating wildcard is harmless, because each of its jobs repeats only after
// it was submitted by its own identifier.
extension Definition {
  /// Checks every rule of a definition, except its size in JSON. The caller checks the size with `Limits.bytes`.
  ///
  /// For a definition that passes, no arithmetic on its numbers overflows, every title fits on a line of a terminal,
  /// and the command can be started as the definition gives it.
  ///
  /// - Throws: the first rule that this definition breaks.
  package func validate() throws(DefinitionProblem) {
    if IdentifierPattern(pattern.rawValue) == nil {
      throw DefinitionProblem(
        "identifier", "must be parts of letters, digits, '-' and '_' with dots between, at most 255 bytes in all")
    }
    try validateTitles()
    try validateKind()
    try validateFollowUps()
    try validateDependencies()
    try validateKeys()
    try notify?.validate()
    try requirements.validate()
    try validateLimits()
    try validateTimes()
    try work?.validate(isWildcard: pattern.isWildcard, closingWindow: closingWindow ?? kind.closingWindow)
    try validateSpread()
    try validateTransfers()
  }

  private func validateSpread() throws(DefinitionProblem) {
    guard let spread else { return }
    try Limits.spread.demand(spread.lanes, in: "work.spread")
    if let shards = spread.shards { try Limits.shards.demand(shards, in: "work.shards") }
    if let size = spread.shardSize { try Limits.shardSize.demand(size, in: "work.shardSize") }
    if kind == .refresh { throw DefinitionProblem("work.spread", "does not belong to kind refresh") }
    if work?.items != nil {
      if spread.shards != nil { throw DefinitionProblem("work.shards", "belongs to work without items") }
    } else {
      if spread.shardSize != nil { throw DefinitionProblem("work.shardSize", "belongs to work with items") }
      if spread.shards == nil { throw DefinitionProblem("work.spread", Spread.noCursor) }
    }
  }

  private func validateFollowUps() throws(DefinitionProblem) {
    for (field, next) in followUps {
      try Limits.followUps.demand(next.jobs.count, in: field)
      for job in next.jobs {
        if job.hasWildcard, !pattern.isWildcard {
          throw DefinitionProblem(field, "may have '${wildcard}' only below a wildcard such as com.example.export.*")
        }
        if job.pattern == pattern { throw DefinitionProblem(field, "names the job itself") }
      }
      if Set(next.jobs).count < next.jobs.count { throw DefinitionProblem(field, "names a job twice") }
    }
  }

  private func validateDependencies() throws(DefinitionProblem) {
    guard let after else { return }
    try Limits.dependencies.demand(after.count, in: "after")
    for one in after {
      if one.identifier.hasWildcard, !pattern.isWildcard {
        throw DefinitionProblem("after", "may have '${wildcard}' only below a wildcard such as com.example.export.*")
      }
      if one.identifier.pattern == pattern { throw DefinitionProblem("after", "names the job itself") }
    }
    if Set(after.map(\.identifier)).count < after.count { throw DefinitionProblem("after", "names a job twice") }
    for (field, isSet) in [("repeat", repeatEvery != nil), ("schedule", schedule != nil)] where isSet {
      throw DefinitionProblem("after", "does not go with '\(field)': such a job comes by itself, and not with a flow")
    }
    if strategy == .fail {
      throw DefinitionProblem("after", "does not go with strategy fail, which starts at once or not at all")
    }
  }

  private func validateTitles() throws(DefinitionProblem) {
    for (field, text) in [("title", title), ("subtitle", subtitle)] {
      guard let text else { continue }
      let scalars = text.unicodeScalars
      if scalars.count > Limits.titleLength {
        throw DefinitionProblem(field, "must have at most \(Limits.titleLength) characters, not \(scalars.count)")
      }
      if scalars.allSatisfy(\.properties.isWhitespace) { throw DefinitionProblem(field, "is empty") }
      if !Line.isAllowed(text) {
        throw DefinitionProblem(field, "must be one line without control characters")
      }
    }
  }

  /// Checks the fields that belong to some kinds only, or to wildcards only.
  private func validateKind() throws(DefinitionProblem) {
    if kind == .continued {
      if title == nil { throw DefinitionProblem("title", "is missing; kind continued needs it") }
      if repeatEvery != nil { throw DefinitionProblem("repeat", "does not belong to kind continued") }
      if schedule != nil { throw DefinitionProblem("schedule", "does not belong to kind continued") }
    } else if strategy != .queue {
      throw DefinitionProblem("strategy", "belongs to kind continued, not \(kind.rawValue)")
    }
    if allowFrequent, kind != .refresh {
      throw DefinitionProblem("allowFrequent", "belongs to kind refresh, not \(kind.rawValue)")
    }
    if !pattern.isWildcard, maxRunning != nil {
      throw DefinitionProblem("maxRunning", "belongs to a wildcard such as com.example.export.*")
    }
  }

  private func validateLimits() throws(DefinitionProblem) {
    try validateRetry()
    if let maxRunning { try Limits.maxRunning.demand(maxRunning, in: "maxRunning") }
    if let pendingLimit { try Limits.pending.demand(pendingLimit, in: "pendingLimit") }
    guard let maySubmit else { return }
    try Limits.submittedPatterns.demand(maySubmit.count, in: "maySubmit")
    if maySubmit.contains(where: { IdentifierPattern($0.rawValue) == nil }) {
      throw DefinitionProblem("maySubmit", "must be a list of identifiers, each of which may end with '.*'")
    }
  }

  private func validateRetry() throws(DefinitionProblem) {
    try Limits.retries.demand(retry.limit, in: "retry.limit")
    if let after = retry.skipBatchAfter {
      try Limits.skips.demand(after, in: "retry.skipBatchAfter")
      if after > retry.limit + 1 {
        throw DefinitionProblem(
          "retry.skipBatchAfter",
          "must be at most \(retry.limit + 1), because the request fails after that many failures")
      }
      if isInOnePiece { throw DefinitionProblem("retry.skipBatchAfter", "belongs to work with items") }
    }
    if let limit = retry.skipLimit {
      try Limits.skips.demand(limit, in: "retry.skipLimit")
      if retry.skipBatchAfter == nil { throw DefinitionProblem("retry.skipLimit", "belongs to 'retry.skipBatchAfter'") }
    }
    if retry.on != nil, retry.notOn != nil { throw DefinitionProblem("retry.notOn", "does not go with 'retry.on'") }
    for (key, kinds) in [("retry.on", retry.on), ("retry.notOn", retry.notOn)] {
      guard let kinds else { continue }
      try Limits.failureKinds.demand(kinds.count, in: key)
      if !kinds.allSatisfy(\.isValid) {
        throw DefinitionProblem(key, "has a kind of failure that is not one line of 1 to 255 bytes")
      }
    }
  }

  private func validateTimes() throws(DefinitionProblem) {
    let any = Duration.zero...Limits.longestDuration
    let positive = Duration.nanoseconds(1)...Limits.longestDuration
    try positive.demand(budget, in: "budget")
    try any.demand(retry.backoff, in: "retry.backoff")
    try any.demand(retry.maxBackoff, in: "retry.maxBackoff")
    if let longest = retry.maxBackoff, longest < retry.backoff {
      throw DefinitionProblem("retry.maxBackoff", "must be at least 'retry.backoff'")
    }
    try Limits.retryJitter.demand(retry.jitter, in: "retry.jitter")
    try Limits.batchTimeout.demand(batchTimeout, in: "batchTimeout")
    try positive.demand(repeatEvery, in: "repeat.every")
    try schedule?.validate()
    if schedule != nil, repeatEvery != nil { throw DefinitionProblem("schedule", "does not go with 'repeat'") }
    if schedule != nil, earliestBeginDate != nil {
      throw DefinitionProblem("schedule", "does not go with 'earliestBeginDate'")
    }
    try Limits.closingWindow.demand(closingWindow, in: "closingWindow")
    try Limits.stallAfter.demand(stallAfter, in: "stallAfter")
    try Limits.dailyAllowance.demand(dailyAllowance, in: "dailyAllowance")
    try Limits.retention.demand(retention, in: "retention")
    try Limits.pokeSpacing.demand(pokeSpacing, in: "pokeSpacing")
    switch earliestBeginDate {
    case .afterSubmission(let delay): try any.demand(delay, in: "earliestBeginDate")
    case .at(let date):
      if !Limits.contains(date) { throw DefinitionProblem("earliestBeginDate", "must be a date from 1970 to 2260") }
    case nil: break
    }
  }
}

extension Requirements {
  fileprivate func validate() throws(DefinitionProblem) {
    try Definition.Limits.slots.demand(slots, in: "slots")
    if let gpu {
      try Definition.Limits.gpus.demand(gpu.count, in: "gpu.count")
      if let memory = gpu.memoryBytes, memory <= 0 {
        throw DefinitionProblem("gpu.memory", "must be more than zero, not \(memory)")
      }
    }
    if let labels { try Self.validate(labels, in: "requiredLabels") }
    guard let preferredLabels else { return }
    try Self.validate(preferredLabels.mapValues(\.value), in: "preferredLabels")
    for (name, label) in preferredLabels.sorted(by: { $0.key < $1.key }) {
      try Definition.Limits.labelWeight.demand(label.weight, in: "preferredLabels.\(name).weight")
    }
  }

  private static func validate(_ labels: [String: String], in key: String) throws(DefinitionProblem) {
    guard labels.count <= Label.maximumCount else {
      throw DefinitionProblem(key, "has \(labels.count) labels; at most \(Label.maximumCount) are allowed")
    }
    guard labels.keys.allSatisfy(Label.isName) else {
      throw DefinitionProblem(
        key, "has a name that is not made of letters, digits, '-', '_' and '.', at most \(Label.maximumNameBytes)")
    }
    guard labels.values.allSatisfy(Label.isValue) else {
      throw DefinitionProblem(key, "has a value that is not one line of at most \(Label.maximumValueBytes) bytes")
    }
  }
}

extension Work {
  fileprivate func validate(isWildcard: Bool, closingWindow: Duration) throws(DefinitionProblem) {
    try validateCommand(isWildcard: isWildcard)
    if let directory { try validatePlace(directory) }
    try validateEnvironment()
    try validateSecrets()
    try validateUser()
    try Definition.Limits.batchSize.demand(batchSize, in: "work.batchSize")
    try items?.validate(passedBy: pass)
    guard let terminateBefore else { return }
    try (Duration.zero...Definition.Limits.longestDuration).demand(terminateBefore, in: "work.terminateBefore")
    guard terminateBefore <= closingWindow else {
      throw DefinitionProblem("work.terminateBefore", "must be at most the closing window, \(closingWindow.inWords)")
    }
  }

  /// The worker reads files of items with its own rights, so a command must not get with them what its user cannot
  /// read.
  private func validateUser() throws(DefinitionProblem) {
    guard let user else { return }
    guard UserName.isName(user) else { throw DefinitionProblem("work.user", "must be \(UserName.rule)") }
    switch items {
    case .lines, .glob:
      throw DefinitionProblem(
        "work.user", "cannot be combined with items.lines or items.glob, which the worker reads as root")
    case .list, .range, nil: break
    }
  }

  private func validateCommand(isWildcard: Bool) throws(DefinitionProblem) {
    guard let program = command.first, !program.isEmpty else {
      throw DefinitionProblem("work.command", "must start with the program to run")
    }
    for word in command {
      do throws(CommandText.Mistake) {
        if try CommandText(word).usesWildcard, !isWildcard {
          throw .unknownPlaceholder(CommandText.placeholder)
        }
      } catch {
        throw DefinitionProblem("work.command", error.rule)
      }
    }
  }

  private func validatePlace(_ directory: String) throws(DefinitionProblem) {
    try Path.validate(directory, in: "work.directory")
    guard directory.hasPrefix("/") else {
      throw DefinitionProblem("work.directory", "must be an absolute path")
    }
  }

  private func validateEnvironment() throws(DefinitionProblem) {
    for (name, value) in environment {
      guard EnvironmentName.isName(name), !EnvironmentName.isOwn(name) else {
        throw DefinitionProblem(
          "work.environment",
          "has a name that is not allowed: letters, digits and '_', no digit first, no BATON_ name, not TRACEPARENT")
      }
      guard !value.utf8.contains(0) else { throw DefinitionProblem("work.environment", "has a NUL character") }
      guard !value.contains(CommandText.placeholder) else {
        throw DefinitionProblem("work.environment", Path.noWildcard)
      }
    }
  }
}

extension Work {
  fileprivate func validateSecrets() throws(DefinitionProblem) {
    let field = "work.secrets"
    let secrets = sortedSecrets
    guard secrets.count <= Definition.Limits.secrets else {
      throw DefinitionProblem(field, "has \(secrets.count) secrets; at most \(Definition.Limits.secrets) are allowed")
    }
    var variables: Set<String> = []
    for (name, secret) in secrets {
      guard EnvironmentName.isName(name), !EnvironmentName.isOwn(name),
        name.utf8.count <= Definition.Limits.secretNameBytes
      else {
        throw DefinitionProblem(
          field,
          "has a name that is not allowed: at most 200 letters, digits and '_', no digit first, no BATON_ name, not "
            + "TRACEPARENT")
      }
      guard Secret.isFile(secret.file) else {
        throw DefinitionProblem(field, "has a file that is not \(Secret.fileRule)")
      }
      let variable = secret.variable(for: name)
      guard environment[name] == nil, environment[variable] == nil else {
        throw DefinitionProblem(field, "has a name that 'work.environment' has too: \(name)")
      }
      guard variables.insert(variable).inserted else {
        throw DefinitionProblem(field, "has two secrets for the variable \(variable)")
      }
    }
  }
}

extension CommandText.Mistake {
  fileprivate var rule: String {
    switch self {
    case .nul: "has a NUL character, which no program can be given"
    case .unknownPlaceholder(CommandText.placeholder):
      "has ${wildcard}, which needs an identifier with a wildcard, such as com.example.export.*"
    case .unknownPlaceholder: "has a ${ that is not ${wildcard}; $${ is the text ${ itself"
    }
  }
}

extension Items {
  fileprivate func validate(passedBy pass: ItemPassing) throws(DefinitionProblem) {
    switch self {
    case .lines(let path): try Path.validate(path, in: "work.items.lines")
    case .glob(let path): try Path.validate(path, in: "work.items.glob")
    case .range:
      guard let count = computedCount, count <= Definition.Limits.rangeItems else {
        throw DefinitionProblem("work.items.range", "has more than 1,000,000,000 items")
      }
    case .list(let items):
      if items.isEmpty { throw DefinitionProblem("work.items.list", "is empty") }
      for item in items {
        if item.utf8.contains(0) { throw DefinitionProblem("work.items.list", "has a NUL character") }
        if item.contains(CommandText.placeholder) { throw DefinitionProblem("work.items.list", Path.noWildcard) }
        if pass != .arguments, item.utf8.contains(UInt8(ascii: "\n")) {
          throw DefinitionProblem(
            "work.items.list", "has an item with a line break, which cannot be passed by \(pass.rawValue)")
        }
      }
    }
  }
}

extension Spread {
  /// Why work without items cannot be divided by itself.
  package static let noCursor =
    "cannot divide work without items: only the command knows what its cursor means. Give the work 'items', or write "
    + "'shards: N' for N shards, each with a cursor of its own"
}

/// Checks of a text that is a path or a glob.
private enum Path {
  static let noWildcard = "cannot have ${wildcard}: it is replaced in 'work.command' only"

  static func validate(_ path: String, in field: String) throws(DefinitionProblem) {
    if path.isEmpty { throw DefinitionProblem(field, "is empty") }
    if path.utf8.contains(0) { throw DefinitionProblem(field, "has a NUL character") }
    if path.contains(CommandText.placeholder) { throw DefinitionProblem(field, noWildcard) }
  }
}

/// Names of environment variables.
package enum EnvironmentName {
  /// True if `name` has only ASCII letters, digits and `_`, and does not begin with a digit.
  package static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, !isDigit(first) else { return false }
    return name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
  }

  /// True for the names that Baton reserves for itself: those that begin with `BATON_`, and `TRACEPARENT`.
  package static func isOwn(_ name: String) -> Bool { name.hasPrefix("BATON_") || name == "TRACEPARENT" }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

extension ClosedRange<Int> {
  fileprivate func demand(_ value: Int, in field: String) throws(DefinitionProblem) {
    guard contains(value) else {
      throw DefinitionProblem(field, "must be from \(lowerBound) to \(upperBound), not \(value)")
    }
  }
}

extension ClosedRange<Duration> {
  /// Throws unless `value` is in this range. `nil` stands for the default, which is always in the range.
  fileprivate func demand(_ value: Duration?, in field: String) throws(DefinitionProblem) {
    guard let value, !contains(value) else { return }
    let least = lowerBound.nanoseconds == 1 ? "more than zero" : "from \(lowerBound.inWords)"
    throw DefinitionProblem(field, "must be \(least), and at most \(upperBound.inWords)")
  }
}

extension Definition {
  /// Throws if the part of `identifier` that the `*` matches would reach the command as an option, such as `-rf`.
  ///
  /// An argument that begins with `${wildcard}` becomes an option if the match begins with `-`. It is accepted after an
  /// argument `--`, which ends the options of most programs. The coordinator checks this when a request is submitted,
  /// and the worker checks it again before it starts the command.
  package func validate(_ identifier: JobIdentifier) throws(DefinitionProblem) {
    guard let match = pattern.wildcardValue(in: identifier), match.hasPrefix("-"), let work else { return }
    for word in work.command {
      if word == "--" { return }
      guard (try? CommandText(word))?.beginsWithWildcard == true else { continue }
      throw DefinitionProblem(
        "work.command",
        "would take '\(match)', which the '*' matched, for an option: write \"--\" before ${wildcard} if the program "
          + "knows that, or submit an identifier whose part does not begin with '-'")
    }
  }
}
