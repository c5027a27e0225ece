import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonIdentity
import BatonJSON
import BatonModel

/// `baton audit`: who did what.
struct AuditCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Show who did what, and check that the record is whole.",
    subcommands: [AuditListCommand.self, AuditVerifyCommand.self], defaultSubcommand: AuditListCommand.self)
}

struct AuditListCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Show who did what, the oldest first.",
    discussion: """
      Each call that changes something has a row, which was stored together with the change, and so have calls that \
      were refused. Rows have no payloads, environments or secrets. After audit.for (default: a year) they are moved \
      to files in the coordinator's data folder.

      Examples:
        baton audit list
        baton audit --since 1d --actor alice
        baton audit --object com.example.report -o jsonl
      """)

  @Option(help: ArgumentHelp("Only what this credential, host or user did.", valueName: "name")) var actor: String?
  @Option(help: ArgumentHelp("Only what concerned this job, host or credential.", valueName: "name"))
  var object: String?
  @Option(
    help: ArgumentHelp("Only the last so long, such as 2h.", valueName: "duration"), transform: TimeArgument.duration)
  var since: Duration?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  private static let page = 500

  func run() async throws {
    let console = Console.current
    let now = console.environment.now()
    let filter = AuditFilter(actor: actor, object: object, since: since.map { now + (.zero - $0) })
    let format = options.output
    let rows = try await client.connect { api in
      var (rows, last): ([AuditRow], Int64) = ([], 0)
      var printer = TablePrinter(
        Self.columns, style: console.style(of: .output), width: format == .wide ? nil : console.outputColumns)
      while true {
        let page = try await api.audit(filter, after: last, limit: Self.page)
        switch format {
        case .table, .wide: console.lines(printer.page(page.map(\.cells)))
        case .jsonl: console.lines(page.map(\.json.compact))
        case .json, .yaml, .name: rows += page
        }
        guard page.count == Self.page, let end = page.last else { return (rows, last, page.count) }
        last = end.sequence
      }
    }
    switch format {
    case .json, .yaml: console.emit(format, list: rows.0.map(\.json)) { [] }
    case .name: console.lines(rows.0.map { String($0.sequence) })
    case .table, .wide: if rows.1 == 0, rows.2 == 0 { console.note("no rows") }
    case .jsonl: break
    }
  }

  private static let columns: [TablePrinter.Column] = [
    .init("ROW", isNumber: true, rank: 1), .init("AT"), .init("ACTOR"), .init("METHOD"), .init("OBJECT"),
    .init("OUTCOME"), .init("FROM", rank: 2), .init("DETAIL", rank: 3),
  ]
}

struct AuditVerifyCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check that no row of the audit log was changed or removed.",
    discussion: """
      Each row has the SHA-256 of the row before it. The head is the hash of the last row. A person who can write the \
      coordinator's files can also write a whole new log: keep a head elsewhere from time to time, and give it with \
      --head to prove that the log still begins with what it had then.

      Examples:
        baton audit verify
        baton audit verify --head 1712:9f2c…
      """)

  @Option(
    help: ArgumentHelp("A head that was printed before: the row has to be in the log.", valueName: "row:hash"),
    transform: Self.head)
  var head: Head?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  struct Head: Hashable, Sendable {
    var sequence: Int64
    var hash: [UInt8]
  }

  private static func head(_ text: String) throws -> Head {
    let parts = text.split(separator: ":")
    guard parts.count == 2, let sequence = Int64(parts[0]), sequence > 0, let hash = Hexadecimal.bytes(parts[1]),
      hash.count == 32
    else { throw ValidationError("It is a row's number, a colon and its hash, as 'baton audit verify' prints them.") }
    return Head(sequence: sequence, hash: hash)
  }

  func run() async throws {
    let console = Console.current
    let (verdict, known) = try await client.connect { api in
      let verdict = try await api.verifyAudit()
      guard let head else { return (verdict, [AuditRow]()) }
      return (verdict, try await api.audit(AuditFilter(), after: head.sequence - 1, limit: 1))
    }
    var problem = verdict.problem
    if problem == nil, let head, known.first?.sequence != head.sequence || known.first?.hash != head.hash {
      problem = "row \(head.sequence) is not the one with this hash"
    }
    let text = "\(verdict.last):\(Hexadecimal.text(verdict.head))"
    console.emit(
      options.output,
      [
        "rows": .integer(verdict.rows), "head": .string(text), "problem": JSONValue(problem),
      ]
    ) {
      ["Rows  \(verdict.rows)", "Head  \(text)"]
    }
    if let problem { throw CommandFailure(.failed, "the audit log is not whole: \(problem.onOneLine)") }
    if options.output.isTable { console.note("the audit log is whole") }
  }
}

extension AuditRow {
  fileprivate var cells: [Cell] {
    [
      Cell("\(sequence)"), Cell(entry.at.utc), Cell(entry.actor.isEmpty ? "-" : entry.actor), Cell(entry.method),
      Cell(entry.object), Cell(entry.outcome.rawValue, entry.outcome == .done ? nil : .yellow), Cell(entry.peer),
      Cell(entry.detail),
    ]
  }
}
