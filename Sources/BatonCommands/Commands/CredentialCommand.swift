import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonIdentity
import BatonJSON
import BatonModel
import BatonWire

/// `baton credential`: who may use the coordinator from another account or another machine.
struct CredentialCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "credential",
    abstract: "Let other people and programs use the coordinator, and take it back.",
    subcommands: [CredentialCreateCommand.self, CredentialListCommand.self, CredentialRevokeCommand.self])
}

struct CredentialCreateCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make a credential, and print its token once.",
    discussion: """
      The token is the secret: pass it on as you would pass on a password. Its owner gives it to 'baton login'. The \
      name becomes the principal of everything that is done with the credential.

      Scopes: read (list, show, explain, trace), logs (output and payloads of others' requests), submit (submit, \
      poke, and cancel or retry its own requests), operate (cancel, retry, drain, evict, pause, simulate), define \
      (apply and remove definitions, which means to run any command on the hosts), admin (everything), metrics \
      (/metrics). Each but metrics includes read.

      Examples:
        baton credential create alice --scope submit --pattern 'com.example.*'
        baton credential create nightly-ci --scope define,operate
      """)

  @Argument(help: "The name, which becomes the principal of what is done with the credential.") var name: String
  @Option(
    help: ArgumentHelp("What it permits: one or more, with commas between them.", valueName: "scopes"),
    transform: Self.scopes)
  var scope: Set<Scope>
  @Option(
    help: ArgumentHelp(
      "Only these jobs, such as 'com.example.*'; may be repeated. Default: every job.", valueName: "pattern"),
    transform: Arguments.pattern)
  var pattern: [IdentifierPattern] = []
  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("How long it is valid, up to 366d. Default: 90d.", valueName: "duration"),
    transform: TimeArgument.duration)
  var lifetime: Duration?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  private static func scopes(_ text: String) throws -> Set<Scope> {
    let names = text.split(separator: ",").map(String.init)
    guard !names.isEmpty, let scopes = Set<Scope>(names: names) else {
      throw ValidationError("The scopes are \(Scope.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    return scopes
  }

  func run() async throws {
    let console = Console.current
    let order = CredentialOrder(
      name: name, scopes: scope, patterns: pattern, lifetime: lifetime ?? Credential.lifetime)
    let (now, holder) = (console.environment.now(), name)
    let (others, created) = try await client.connect { api in
      let others = try await api.credentials().count { $0.name == holder && !$0.isRevoked && now <= $0.end }
      return (others, try await api.createCredential(order))
    }
    if others > 0 {
      console.note(
        "\(name.onOneLine) has \(others == 1 ? "another credential" : "\(others) other credentials"), still valid: 'baton "
          + "credential list' shows the ids, and 'baton credential revoke ID' takes one back")
    }
    let address = created.fleet.operators.map(HostInviteCommand.address)
    let login = address.map { "baton login \($0) --pin \(created.fleet.pin)" }
    var json = created.credential.json
    json.append(.init(key: "token", value: .string("\(created.token)")))
    json.append(.init(key: "login", value: JSONValue(login)))
    console.emit(options.output, .object(json)) {
      if let login {
        console.note("its owner runs this, and pastes the token: \(login)")
      } else {
        console.note(
          "the coordinator listens only on its own machine; for other accounts and machines start it with --operators")
      }
      return ["\(created.token)"]
    }
  }
}

struct CredentialListCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Show the credentials, what they permit, and when they were last used.",
    discussion: """
      Examples:
        baton credential list
        baton credential list -o json | jq -r '.[].name'
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let now = console.environment.now()
    let credentials = try await client.connect { try await $0.credentials() }
    console.emit(options.output, list: credentials.map { .object($0.json) }) {
      if credentials.isEmpty { console.note("no credentials; make one with: baton credential create") }
      let columns: [TablePrinter.Column] = [
        .init("NAME"), .init("ID", rank: 1), .init("SCOPES"), .init("JOBS"), .init("ENDS"), .init("LAST USED", rank: 2),
      ]
      return TablePrinter.lines(
        columns,
        credentials.map { credential in
          [
            Cell(credential.name), Cell(Hexadecimal.text(credential.id)), Cell(credential.scopes.text),
            Cell(credential.jobs), Cell(credential.standing(at: now)),
            Cell(credential.lastUsedAt.map { $0.relative(to: now) } ?? "never"),
          ]
        }, style: console.style(of: .output), width: console.outputColumns)
    }
  }
}

struct CredentialRevokeCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Take credentials back, for ever.",
    discussion: """
      Calls with them are refused from now on, and open streams end. They stay revoked if an older copy of the store \
      is put back.

      Examples:
        baton credential revoke alice               # all of this name
        baton credential revoke 4be1c2d3a4b5c6d7    # one, by its id
      """)

  @Argument(help: "The name of credentials, or the id of one.") var credential: String
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let name = credential
    let revoked = try await client.connect { try await $0.revokeCredential(name) }
    let json: JSONValue = [
      "name": .string(name), "revoked": JSONValue(revoked.count), "revokedBefore": JSONValue(revoked.before),
    ]
    Console.current.emit(options, json) { ["\(name.onOneLine): \(revoked.words)"] }
  }
}

extension RevokedCredentials {
  /// What was done, after the name of the credentials.
  fileprivate var words: String {
    let others = before == 0 ? "" : "; \(counted(before, "other")) revoked before"
    switch (count, before) {
    case (0, 0): return "revoked, and had ended before"
    case (0, _): return "was revoked before; nothing has changed"
    default: return "revoked, \(counted(count, "credential")) that had not ended" + others
    }
  }
}

extension Credential {
  fileprivate var jobs: String { patterns.isEmpty ? "all" : patterns.map(\.rawValue).joined(separator: ",") }

  fileprivate func standing(at now: Timestamp) -> String {
    if isRevoked { return "revoked" }
    return end < now ? "ended" : end.relative(to: now)
  }

  fileprivate var json: [JSONValue.Member] {
    [
      .init(key: "id", value: .string(Hexadecimal.text(id))), .init(key: "name", value: .string(name)),
      .init(key: "scopes", value: .array(scopes.sorted().map { .string($0.rawValue) })),
      .init(key: "patterns", value: .array(patterns.map { .string($0.rawValue) })),
      .init(key: "ends", value: .string(end.rfc3339)), .init(key: "createdAt", value: .string(createdAt.rfc3339)),
      .init(key: "createdBy", value: .string(createdBy)),
      .init(key: "lastUsedAt", value: JSONValue(lastUsedAt?.rfc3339)),
      .init(key: "isRevoked", value: .bool(isRevoked)),
    ]
  }
}
