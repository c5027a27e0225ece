import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonIdentity
import BatonJSON
import BatonModel

struct LoginCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Use the coordinator of another account or another machine.",
    discussion: """
      It asks for the token of your credential, which an administrator makes with 'baton credential create'. It sends \
      the token only if the coordinator is that of the fleet with the pin. The login is kept in ~/.config/baton, for \
      this user alone.

      Commands then use the fleet 'default', unless --fleet or BATON_FLEET names another one, or --coordinator or \
      BATON_COORDINATOR names a coordinator of this machine.

      A fleet with several coordinators has an address for each, separated by commas. A command asks the first one \
      that answers, and goes to the next one only before it has begun.

      Examples:
        baton login base.example.org:7422 --pin sha256:0f3a…
        baton login a.example.org:7422,b.example.org:7422 --pin sha256:0f3a…
        baton login base.example.org:7422 --pin sha256:0f3a… --fleet work < token.txt
      """)

  @Argument(help: ArgumentHelp("Where the coordinator listens for operators.", valueName: "host:port"))
  var address: String
  @Option(help: ArgumentHelp("The fleet's pin, as 'baton fleet' prints it.", valueName: "pin"), transform: Self.pin)
  var pin: Pin
  @Option(help: ArgumentHelp("What you call the fleet.", valueName: "name"))
  var fleet = FleetLogin.defaultName
  @Option(
    help: ArgumentHelp("A file with the token; otherwise it is read from standard input.", valueName: "file"))
  var tokenFile: String?

  private static func pin(_ text: String) throws -> Pin {
    do { return try Pin(parsing: text) } catch { throw ValidationError("\(error)") }
  }

  func validate() throws {
    guard FleetLogin.isWellFormed(name: fleet) else {
      throw ValidationError("A fleet's name has 1 to 64 letters, digits, '-' and '_'.")
    }
  }

  func run() async throws {
    let console = Console.current
    let folder = try console.environment.configurationFolder
    let token: CredentialToken
    do { token = try CredentialToken(parsing: try text(console)) } catch let error as IdentityError {
      throw CommandFailure(.usage, "\(error)")
    }
    let (login, caller) = try await console.environment.backend.logIn(address, pin, token)
    do { try login.write(fleet, in: folder) } catch { throw CommandFailure(.unavailable, "\(error)") }
    console.output("logged in to \(fleet) as \(caller.name.onOneLine), \(caller.words(at: console.environment.now()))")
  }

  /// The token, from the file or from standard input.
  private func text(_ console: Console) throws -> String {
    if let tokenFile {
      let bytes: [UInt8]?
      do { bytes = try PrivateFile.read(tokenFile) } catch { throw CommandFailure(.notPermitted, "\(error)") }
      guard let bytes else { throw CommandFailure(.usage, "there is no file \(tokenFile.onOneLine)") }
      return String(decoding: bytes, as: UTF8.self).withoutWhiteSpace
    }
    guard let line = console.environment.readSecret("Token: ") else {
      throw CommandFailure(.usage, "no token was given: paste it, or name its file with --token-file")
    }
    return line.withoutWhiteSpace
  }
}

struct LogoutCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "logout",
    abstract: "Forget the login of a fleet.",
    discussion: """
      It removes the login from this machine. The credential stays valid until an administrator revokes it.

      Examples:
        baton logout
        baton logout --fleet work
      """)

  @Option(
    name: .customLong("fleet"), help: ArgumentHelp("What you call the fleet. Default: default.", valueName: "name"))
  var named: String?
  @Argument(help: ArgumentHelp("The same as --fleet.", valueName: "fleet")) var argument: String?

  func validate() throws {
    guard named == nil || argument == nil else { throw ValidationError("Name the fleet once.") }
  }

  func run() async throws {
    let console = Console.current
    let fleet = named ?? argument ?? FleetLogin.defaultName
    let folder = try console.environment.configurationFolder
    let wasThere: Bool
    do { wasThere = try FleetLogin.isWellFormed(name: fleet) && FleetLogin.remove(fleet, in: folder) } catch {
      throw CommandFailure(.unavailable, "\(error)")
    }
    guard wasThere else {
      let names = FleetLogin.names(in: folder)
      throw CommandFailure(
        .notFound,
        "you are not logged in to '\(fleet.onOneLine)'"
          + (names.isEmpty ? "" : "; you are logged in to \(names.joined(separator: ", "))"))
    }
    console.output("logged out of \(fleet)")
  }
}

struct WhoAmICommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "whoami",
    abstract: "Show which coordinator commands talk to, and what you may do there.",
    discussion: """
      It also keeps the fleet's present roots in the login, so that the login works after 'baton fleet rotate'.

      Examples:
        baton whoami
        baton whoami --fleet work
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let (coordinator, now) = (words(client.target(in: console.environment), console), console.environment.now())
    let (caller, roots) = try await client.connect { (try await $0.whoAmI(), try await $0.fleet().roots) }
    learn(roots, client.target(in: console.environment), console)
    let credential = caller.credential
    console.emit(
      options.output,
      [
        "name": .string(caller.name), "coordinator": .string(coordinator),
        "scopes": .array((credential?.scopes.sorted() ?? Scope.allCases).map { .string($0.rawValue) }),
        "patterns": .array((credential?.patterns ?? []).map { .string($0.rawValue) }),
        "ends": JSONValue(credential?.end.rfc3339),
        "credential": JSONValue(credential.map { Hexadecimal.text($0.id) }),
      ]
    ) {
      [
        "Name         \(caller.name.onOneLine)", "Coordinator  \(coordinator.onOneLine)",
        "May          \(credential?.scopes.text ?? "everything, as the coordinator's own user")",
        "Jobs         \(caller.limits?.map(\.rawValue.onOneLine).joined(separator: ", ") ?? "all")",
        "Ends         \(credential?.end.dated(from: now) ?? "never")",
      ]
    }
  }
}

extension WhoAmICommand {
  /// Keeps the fleet's roots in the login, because one of them may have been replaced, or is about to be.
  private func learn(_ roots: [[UInt8]], _ target: ConnectionTarget, _ console: Console) {
    guard let (name, folder) = login(target, console), var login = try? FleetLogin.read(name, in: folder) ?? nil else {
      return
    }
    do {
      if try login.learn(roots: roots) { try login.write(name, in: folder) }
    } catch {
      console.note("the fleet's roots were not kept: \(error)")
    }
  }

  private func login(_ target: ConnectionTarget, _ console: Console) -> (name: String, folder: String)? {
    guard let folder = try? console.environment.configurationFolder else { return nil }
    return switch target.fleet {
    case .none: nil
    case .named(let name): (name, folder)
    case .preferred: (FleetLogin.defaultName, folder)
    }
  }

  /// How people call the coordinator that commands talk to: the name and the address of the login, or the address.
  private func words(_ target: ConnectionTarget, _ console: Console) -> String {
    let name: String
    switch target.fleet {
    case .none: return target.endpoint
    case .named(let named): name = named
    case .preferred: name = FleetLogin.defaultName
    }
    guard let folder = try? console.environment.configurationFolder, let login = try? FleetLogin.read(name, in: folder)
    else { return target.fleet == .preferred ? target.endpoint : "fleet \(name)" }
    return "fleet \(name), \(login.address)"
  }
}

extension Caller {
  fileprivate func words(at now: Timestamp) -> String {
    guard let credential else { return "the coordinator's own user" }
    let jobs = limits.map { " for " + $0.map(\.rawValue).joined(separator: ", ") } ?? ""
    return "who may \(credential.scopes.text)\(jobs); the credential ends \(credential.end.dated(from: now))"
  }
}

extension String {
  fileprivate var withoutWhiteSpace: String { filter { !$0.isWhitespace } }
}
