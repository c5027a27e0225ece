import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// Which requests a command changes together, and whether it asks before.
struct BulkOptions: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp("Only requests that run on this host, or ran there last.", valueName: "name"),
    completion: .hosts)
  var host: String?

  @OptionGroup var choice: BulkChoice

  var dryRun: Bool { choice.dryRun }
  var yes: Bool { choice.yes }

  /// Whether one of the options chooses requests.
  var chooses: Bool { host != nil || choice.chooses }
}

/// The part of `BulkOptions` that says nothing about hosts.
struct BulkChoice: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp("Only requests that were submitted so long ago, such as 2h.", valueName: "duration"),
    transform: TimeArgument.duration)
  var olderThan: Duration?

  @Option(help: ArgumentHelp("Only requests that this user or credential submitted.", valueName: "name"))
  var by: String?

  @Flag(help: "Show which requests would be changed, and change nothing.") var dryRun = false
  @Flag(help: "Do not ask before several requests are changed. One request is changed without a question.")
  var yes = false

  var chooses: Bool { olderThan != nil || by != nil }

  /// Whether the request is one of those that the options choose among the listed ones.
  func includes(_ record: RequestRecord, at now: Timestamp) -> Bool {
    (olderThan.map { record.submittedAt + $0 <= now } ?? true) && (by.map { record.principal == $0 } ?? true)
  }
}

/// A change of many requests, one after the other: each is a transaction of its own, and has its own row in the audit
/// log.
struct BulkChange: Sendable {
  /// The most requests that one command changes. More of them are probably a mistake, and a list of so many is read
  /// within a second.
  static let most = 10_000
  private static let pageSize = 1_000
  /// How many changes are under way at once: as many as the coordinator commits together anyway.
  private static let atOnce = 16

  /// What is done, as a verb: `cancel`.
  var verb: String
  var filter: RequestFilter
  var options: BulkChoice
  /// Only the requests with this number; `nil` for all.
  var number: Int?
  /// What a person has to know before the answer; `nil` if there is nothing.
  var consequence: String?

  /// The requests to change, the one that was submitted first at the beginning.
  /// - Throws: a `CommandFailure` with status `usage` if there are too many.
  func find(_ api: any OperatorAPI) async throws -> [RequestRecord] {
    let now = CommandEnvironment.current.now()
    var (found, after): ([RequestRecord], RequestID?) = ([], nil)
    repeat {
      let page = try await api.requests(filter, after: after, limit: Self.pageSize)
      found += page.filter { options.includes($0, at: now) && number ?? $0.number == $0.number }
      guard found.count <= Self.most else {
        throw CommandFailure(
          .usage, "more than \(Self.most) requests match: choose fewer, for instance with --host or --older-than")
      }
      after = page.count == Self.pageSize ? page.last?.id : nil
    } while after != nil
    return found
  }

  /// Asks the person at the terminal.
  /// - Throws: a `CommandFailure` with status `usage` if standard input is no terminal, and with status `failed` if the
  ///   answer is not yes.
  func confirm(_ records: [RequestRecord], _ console: Console) throws {
    guard !options.yes, !records.isEmpty else { return }
    let running = records.count { $0.state == .running }
    let what = counted(records.count, "request") + (running > 0 ? " (\(running) of them running)" : "")
    guard let readAnswer = console.environment.readAnswer else {
      throw CommandFailure(.usage, "this would \(verb) \(what): confirm with --yes, or look at them with --dry-run")
    }
    console.write("\(verb) \(what)? \(consequence.map { "\($0) " } ?? "")[y/N] ", to: .error)
    guard ["y", "yes"].contains(readAnswer()?.lowercased() ?? "") else {
      throw CommandFailure(.failed, "nothing was changed")
    }
  }

  /// Changes each of the requests. One that has ended or was removed in the meantime is passed over.
  /// - Returns: the results in the order of the requests.
  func each<Result: Sendable>(
    of records: [RequestRecord], _ body: @escaping @Sendable (RequestRecord) async throws -> Result
  ) async throws -> [Result] {
    try await withThrowingTaskGroup(of: (Int, Result?).self) { group in
      var results: [Int: Result] = [:]
      for (index, record) in records.enumerated() {
        if index >= Self.atOnce, let (done, result) = try await group.next() { results[done] = result }
        group.addTask {
          do {
            return (index, try await body(record))
          } catch OperatorError.conflict {
            return (index, nil)
          } catch OperatorError.notFound {
            return (index, nil)
          }
        }
      }
      for try await (done, result) in group { results[done] = result }
      return results.sorted { $0.key < $1.key }.map(\.value)
    }
  }
}

extension BulkChange {
  /// Finds the requests, shows them or asks about them, and changes them. The lines say what became of each.
  /// - Parameters:
  ///   - nothing: what a person is told if there is nothing to change.
  ///   - foreseen: what would become of a request, behind its name.
  func carryOut<Result: Sendable>(
    _ client: ClientOptions, _ output: ChangeOptions, nothing: String, foreseen: (RequestRecord) -> String,
    json: (Result) -> JSONValue, line: (Result) -> String,
    change body: @escaping @Sendable (any OperatorAPI, RequestRecord) async throws -> Result
  ) async throws {
    let console = Console.current
    let found = try await client.connect { try await find($0) }
    if found.isEmpty {
      console.emit(output, list: []) { [] }
      return output.quiet ? () : console.note(nothing)
    }
    if options.dryRun {
      return console.emit(output.output, list: found.map { JSONValue($0) }) {
        found.map { "\($0.name): \(foreseen($0))" }
      }
    }
    try confirm(found, console)
    let results = try await client.connect { api in try await each(of: found) { try await body(api, $0) } }
    console.emit(output, list: results.map(json)) { results.map(line) }
    let rest = found.count - results.count
    if rest > 0 { console.note("\(counted(rest, "request")) could not be changed, or had changed in the meantime") }
  }
}

extension ClientOptions {
  /// Says what a command would change about one request, and changes nothing.
  /// - Parameters:
  ///   - isChanged: whether the command would change it.
  ///   - foreseen: what would become of it, behind its name.
  /// - Throws: a `CommandFailure` with status `refused` if the command would not change it.
  func foresee(
    _ identifier: JobIdentifier, _ number: Int?, choosing choice: RequestChoice = .current,
    _ output: ChangeOptions, where isChanged: (RequestRecord) -> Bool, foreseen: (RequestRecord) -> String
  ) async throws {
    let record = try await connect { try await $0.details(identifier, number: number, choosing: choice).record }
    guard isChanged(record) else {
      throw CommandFailure(.refused, "nothing would be changed: \(record.name) \(record.state.predicate)")
    }
    Console.current.emit(output.output, JSONValue(record)) { ["\(record.name): \(foreseen(record))"] }
  }
}
