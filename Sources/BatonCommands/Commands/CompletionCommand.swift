import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// A shell for which completions can be written.
enum CompletedShell: String, CaseIterable, ExpressibleByArgument, Sendable {
  case bash, zsh, fish

  fileprivate var kind: CompletionShell {
    switch self {
    case .bash: .bash
    case .zsh: .zsh
    case .fish: .fish
    }
  }
}

struct CompletionCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "completion",
    abstract: "Write the completions for a shell.",
    discussion: """
      Besides commands and options, the Tab key completes identifiers, patterns and hosts, which it asks the \
      coordinator for; it finds the coordinator as every command does without --coordinator and --fleet. If none \
      answers within a second, there is nothing to complete. 'baton' must be in your PATH.

      Examples:
        baton completion bash > ~/.local/share/bash-completion/completions/baton
        baton completion zsh > "${fpath[1]}/_baton"
        baton completion fish > ~/.config/fish/completions/baton.fish
      """)

  @Argument(help: "bash, zsh or fish.") var shell: CompletedShell

  func run() async throws { Console.current.output(BatonCommand.completionScript(for: shell.kind)) }
}

/// What a completion script asks for. It is not shown in the help.
struct CompleteCommand: AsyncParsableCommand, Sendable {
  enum Subject: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// What can be submitted or looked at.
    case identifiers
    /// Identifiers, and the patterns above them.
    case patterns
    case definitions
    case hosts
  }

  static let configuration = CommandConfiguration(
    commandName: "complete", abstract: "Write words for the completions of a shell.",
    discussion: """
      Examples:
        baton complete hosts
      """, shouldDisplay: false)

  @Argument(help: "identifiers, patterns, definitions or hosts.") var subject: Subject
  @OptionGroup var client: ClientOptions

  /// How long a person waits for the Tab key at most.
  static let deadline = Duration.milliseconds(1000)
  /// The most requests whose identifiers are offered, the newest ones.
  private static let requests = 500
  /// The most hosts that are offered, the first ones by name.
  private static let hosts = 500

  /// Writes nothing about errors: they would stand in the middle of the line that a person is typing.
  func run() async throws {
    let environment = CommandEnvironment.current
    let (subject, client) = (subject, client)
    let words = await withTaskGroup(of: [String]?.self) { group in
      group.addTask { try? await client.connect { try await Self.words(for: subject, $0) } }
      group.addTask {
        try? await environment.sleep(Self.deadline)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next().flatMap(\.self) ?? []
    }
    Console.current.lines(Set(words.filter(\.isPlainWord)).sorted())
  }

  private static func words(for subject: Subject, _ api: any OperatorAPI) async throws -> [String] {
    switch subject {
    case .hosts: return try await api.hosts(HostFilter(), after: nil, limit: hosts).hosts.map(\.name.rawValue)
    case .definitions: return try await api.definitions(named: []).map(\.definition.pattern.rawValue)
    case .identifiers:
      async let patterns = api.definitions(named: []).compactMap(\.definition.pattern.literal?.rawValue)
      return try await identifiers(api) + patterns
    case .patterns:
      async let patterns = api.definitions(named: []).map(\.definition.pattern.rawValue)
      let names = try await identifiers(api) + patterns
      return names + names.flatMap(Self.above)
    }
  }

  private static func identifiers(_ api: any OperatorAPI) async throws -> [String] {
    try await api.requests(RequestFilter(isNewestFirst: true), after: nil, limit: requests).map(\.identifier.rawValue)
  }

  /// The patterns above an identifier: `com.example.a` is below `com.example.*`. What is above a whole domain names too
  /// much to be offered.
  private static func above(_ name: String) -> [String] {
    let parts = name.split(separator: ".").dropLast()
    return parts.count < 2 ? [] : [parts.joined(separator: ".") + ".*"]
  }
}

extension String {
  /// Whether a shell takes the text for nothing but itself: the words of bash's `compgen -W` are expanded, so the name
  /// of a host could otherwise run a command.
  fileprivate var isPlainWord: Bool {
    !isEmpty && !hasPrefix("-")
      && allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-*".contains($0)) }
  }
}

extension CompletionKind {
  static var identifiers: CompletionKind { .shellCommand("baton complete identifiers 2>/dev/null") }
  static var patterns: CompletionKind { .shellCommand("baton complete patterns 2>/dev/null") }
  static var definitions: CompletionKind { .shellCommand("baton complete definitions 2>/dev/null") }
  static var hosts: CompletionKind { .shellCommand("baton complete hosts 2>/dev/null") }
}
