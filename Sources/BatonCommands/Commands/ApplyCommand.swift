import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

struct ApplyCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "apply",
    abstract: "Store the definitions of job files at the coordinator.",
    discussion: """
      Nothing is submitted, with one exception: a definition with 'repeat' or 'schedule' that has no request yet gets \
      its first one. Requests that were submitted before keep the definition they were submitted under; --refreeze \
      gives this one to those that wait, also if it was applied before. They then start when the new text says so. If \
      a file has an error, nothing of any file is applied. --prune PATTERN then removes the definitions below the \
      pattern that are in none of the files; one with unfinished requests stays, and is told.

      Examples:
        baton apply job.yaml
        baton apply jobs/ --dry-run
        baton apply job.yaml --refreeze
        baton apply jobs/ --prune 'com.example.*'
        make-jobs | baton apply -f -
      """)

  @OptionGroup var files: FileArguments

  @Flag(help: "Only say what would change, as 'baton plan' does.") var dryRun = false

  @Flag(help: "Give the new definition to the requests of a changed definition that wait, also those that repeat.")
  var refreeze = false

  @OptionGroup var pruning: PruneOption
  @OptionGroup var strictness: StrictOption
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func validate() throws {
    guard !dryRun || !refreeze else {
      throw ValidationError("--dry-run changes nothing: leave one of --dry-run and --refreeze out.")
    }
  }

  func run() async throws {
    let console = Console.current
    let definitions = try console.definitions(in: files.all, isStrict: strictness.isStrict, applies: !dryRun)
      .map(\.definition)
    let prunes = pruning.prune
    if dryRun { return try await Plan.write(definitions, pruning: prunes, client, options.output, console) }
    let refreezes = refreeze
    let (outcomes, removals, gaps) = try await client.connect { api in
      let applied = try await api.apply(definitions)
      let outcomes =
        refreezes
        ? try await ApplicationOutcome.refreezing(applied, api) : await ApplicationOutcome.counting(applied, api)
      let removals = prunes.isEmpty ? [] : try await Removal.each(definitions, prunes, api)
      return (outcomes, removals, try await Self.gaps(after: definitions, api))
    }
    console.emit(options, list: outcomes.map { JSONValue($0) } + removals.map { JSONValue($0) }) {
      outcomes.flatMap { [$0.line] + $0.namedLines }
        + removals.filter { $0.refusal == nil }.map { "\($0.pattern.rawValue.onOneLine): removed" }
    }
    for gap in gaps.prefix(3) { console.warning(gap) }
    let kept = removals.compactMap(\.refusal)
    for refusal in kept.prefix(3) { console.warning(refusal) }
    if !kept.isEmpty { throw CommandFailure(.refused, "\(counted(kept.count, "definition")) could not be removed") }
    let refusals = outcomes.flatMap(\.refusals)
    for refusal in refusals.prefix(3) { console.warning(refusal) }
    if !refusals.isEmpty {
      throw CommandFailure(.refused, "\(counted(refusals.count, "waiting request")) kept the earlier definition")
    }
  }

  /// The jobs that `onSuccess` and `onFailure` name and that cannot be submitted, in words: no definition covers them,
  /// or several of them are no flow.
  private static func gaps(after definitions: [Definition], _ api: any OperatorAPI) async throws -> [String] {
    guard definitions.contains(where: { !$0.followUps.isEmpty }) else { return [] }
    let present = try await api.definitions(named: []).map(\.definition)
    return definitions.flatMap { definition in
      definition.followUps.flatMap { key, next in
        let missing = next.jobs.filter { job in !present.contains { $0.pattern.covers(job.pattern) } }
        if missing.isEmpty {
          return next.problem(among: present).map { ["'\(key)' of \(definition.pattern) is no flow: \($0)"] } ?? []
        }
        return missing.map { "'\(key)' of \(definition.pattern) names \($0), for which no definition is applied" }
      }
    }
  }

  /// What became of a definition that is in none of the files.
  struct Removal: Sendable {
    var pattern: IdentifierPattern
    /// Why it stays; `nil` if it was removed.
    var refusal: String?

    /// Removes the definitions below the patterns that are not among `definitions`.
    static func each(
      _ definitions: [Definition], _ prunes: [IdentifierPattern], _ api: any OperatorAPI
    ) async throws -> [Self] {
      let plan = Plan(definitions, pruning: prunes, present: try await api.definitions(named: []))
      var removals: [Self] = []
      for report in plan.removals {
        var removal = Self(pattern: report.definition.pattern)
        do { try await api.remove(removal.pattern) } catch let error as OperatorError {
          removal.refusal = CommandFailure(error).message
        }
        removals.append(removal)
      }
      return removals
    }
  }
}

extension FollowUp {
  /// Why the jobs cannot be submitted as a flow; `nil` if they can. With a wildcard that is known only for a request.
  fileprivate func problem(among definitions: [Definition]) -> FlowProblem? {
    let members = jobs.compactMap { job in
      JobIdentifier(job.text).flatMap { name in
        (definitions.first { $0.pattern.literal == name } ?? definitions.first { $0.pattern.matches(name) })
          .map { FlowPlan.Member(name, of: $0) }
      }
    }
    guard jobs.count > 1, members.count == jobs.count else { return nil }
    do throws(FlowProblem) {
      _ = try FlowPlan(members)
      return nil
    } catch { return error }
  }
}

extension ApplicationOutcome {
  /// Gives the definitions to all requests that wait under an earlier one, page by page.
  fileprivate static func refreezing(_ applied: [AppliedDefinition], _ api: any OperatorAPI) async throws -> [Self] {
    var outcomes: [Self] = []
    for one in applied {
      var outcome = Self(applied: one)
      try await outcome.refreeze(api)
      outcomes.append(outcome)
    }
    return outcomes
  }

  private mutating func refreeze(_ api: any OperatorAPI) async throws {
    let filter = RequestFilter(states: [.scheduled, .ready], pattern: applied.pattern)
    var after: RequestID?
    while true {
      let page = try await api.requests(filter, after: after, limit: RequestListing.pageSize)
      for record in page where record.pattern == applied.pattern && record.definition != applied.id {
        do {
          _ = try await api.redefine(record.identifier, number: record.number)
          refrozen += 1
          name(record, isGiven: true)
        } catch let error as OperatorError {
          keeping += 1
          name(record, isGiven: false)
          refusals.append("\(record.name): \(CommandFailure(error).message)")
        }
      }
      guard page.count == RequestListing.pageSize, let last = page.last else { return }
      after = last.id
    }
  }

  private mutating func name(_ record: RequestRecord, isGiven: Bool) {
    if named.count < EarlierText.mostNamed { named.append(Named(request: record.name, isGiven: isGiven)) }
  }

  /// What each of the named requests will run.
  fileprivate var namedLines: [String] {
    let rest = keeping + refrozen - named.count
    return named.map { "  \($0.request) will run \($0.isGiven ? "this" : "the earlier") definition" }
      + (rest > 0 && !named.isEmpty ? ["  and \(rest) more"] : [])
  }

  /// The line of output: `com.example.export.*: updated; 2 waiting requests keep the earlier definition`.
  fileprivate var line: String {
    let which = applied.change == .unchanged ? "an earlier" : "the earlier"
    let kept = "\(counted(keeping, "waiting request")) \(keeping == 1 ? "keeps" : "keep") \(which) definition"
    let given = "\(counted(refrozen, "waiting request")) \(refrozen == 1 ? "has" : "have") it now"
    return applied.line + (refrozen > 0 ? "; \(given)" : "")
      + (keeping > 0
        ? "; \(kept)"
          + (refusals.isEmpty ? " ('baton apply --refreeze' gives \(keeping == 1 ? "it" : "them") this one)" : "") : "")
  }
}

extension AppliedDefinition {
  /// The line of output: `com.example.export.*: created`.
  var line: String {
    "\(pattern.rawValue.onOneLine): \(change.rawValue)" + (submitted.map { ", submitted request \($0.number)" } ?? "")
  }
}

extension JSONValue {
  fileprivate init(_ removal: ApplyCommand.Removal) {
    self = [
      "identifier": JSONValue(removal.pattern.rawValue), "change": removal.refusal == nil ? "removed" : "kept",
      "submittedRequest": nil, "waitingWithEarlierDefinition": JSONValue(0), "refrozen": JSONValue(0),
    ]
  }
}
