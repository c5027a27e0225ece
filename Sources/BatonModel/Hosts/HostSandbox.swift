/// How a command is fenced off from its host. No level at all, `nil`, means that the command may do what the worker's
/// user may do.
public enum SandboxLevel: String, Hashable, Sendable, Codable, CaseIterable, Comparable {
  /// The command cannot open Baton's own files or those of other launches, signal or examine processes outside of its
  /// launch, gain privileges, or use the system calls that ordinary programs do not need.
  case basic
  /// Besides what `basic` does: the command sees no processes but those of its launch, which all die with the command;
  /// it writes to nothing but its launch's folder, its working directory, the directories that the host's owner names,
  /// and a /tmp of its own; and it has no network unless its definition requires one.
  case strict

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  /// Whether `right` keeps commands from more than `left`.
  public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}

/// What a host can do to fence commands in, and what its owner requires.
package struct HostSandbox: Hashable, Sendable, Codable {
  /// The level without which the owner lets no command run; `nil` if the owner requires none.
  package var required: SandboxLevel?
  /// The highest level that the host was seen to give; `nil` if it can give none.
  package var available: SandboxLevel?
  /// Why the host gives no higher level; empty if it gives the highest.
  package var problem: String

  package init(required: SandboxLevel? = nil, available: SandboxLevel? = nil, problem: String = "") {
    self.required = required
    self.available = available
    self.problem = problem
  }

  /// The level with which a command of `work` runs: the higher one of what the definition asks for and what the owner
  /// requires. A command with a user of its own runs at least in `basic`, which keeps the worker's folders closed to
  /// that user and opens the way to the launch's folder.
  package func level(for work: Work) -> SandboxLevel? {
    [work.sandbox, required, work.user == nil ? nil : .basic].compactMap { $0 }.max()
  }
}

/// What a host's owner lets commands do. The worker decides by it, whatever the coordinator says; the coordinator gets
/// it only to explain.
package struct CommandPermissions: Hashable, Sendable, Codable {
  /// The programs that may run; `nil` means every program.
  package var commands: [PathPattern]?
  /// The working directories that definitions may name; `nil` means every directory. The folder of the launch is always
  /// permitted.
  package var directories: [PathPattern]?
  package var network: Bool
  /// False if the worker runs as root, and the owner has not allowed that.
  package var runsCommands: Bool
  /// Which definitions may use which secrets; `nil`, which an older worker says, permits no secret.
  package var secrets: [SecretPermission]?
  /// The users as which a definition may let its command run. `nil` permits none: the worker is not root, which cannot
  /// switch users, or it is of an older version.
  package var users: [String]?
  /// The principals whose requests may run here; `nil` means all.
  package var principals: [PrincipalPattern]?

  package init(
    commands: [PathPattern]? = nil, directories: [PathPattern]? = nil, network: Bool = true, runsCommands: Bool = true,
    secrets: [SecretPermission]? = nil, users: [String]? = nil, principals: [PrincipalPattern]? = nil
  ) {
    self.commands = commands
    self.directories = directories
    self.network = network
    self.runsCommands = runsCommands
    self.secrets = secrets
    self.users = users
    self.principals = principals
  }
}

/// What a host's owner does not permit.
package enum Veto: Hashable, Sendable {
  case identifier
  case command(String)
  case directory(String)
  case network
  case root
  /// The file of a secret.
  case secret(String)
  /// A user that the owner does not list.
  case user(String)
  /// Any user but the worker's own, because only a worker that is root can switch users.
  case userWithoutRoot(String)
  case principal(String)

  /// What is not permitted, in words.
  package var what: String {
    switch self {
    case .identifier: "this identifier"
    case .command(let path): "the command \(path)"
    case .directory(let path): "the working directory \(path)"
    case .network: "jobs that need a network"
    case .root: "commands of a worker that runs as root"
    case .secret(let file): "the secret \(file) for this identifier"
    case .user(let name): "commands as the user \(name)"
    case .userWithoutRoot(let name): "commands as the user \(name), because its worker is not root"
    case .principal(let name): "requests of the principal \(name.isEmpty ? "without a name" : name)"
    }
  }

  /// The key of worker.yaml that decides.
  package var key: String {
    switch self {
    case .identifier: "permittedIdentifiers"
    case .command: "allow.commands"
    case .directory: "allow.directories"
    case .network: "allow.network"
    case .root: "allow.root"
    case .secret: "allow.secrets"
    case .user, .userWithoutRoot: "allow.users"
    case .principal: "allow.principals"
    }
  }
}

extension Capabilities {
  /// What the host's owner does not permit of this definition. The coordinator explains with it, and the worker refuses
  /// with it.
  ///
  /// A program without a slash in its name is found on the host only, so that the worker alone can judge it.
  /// - Parameter principal: who submitted the request; `nil` if the question is not about one request.
  package func vetoes(of definition: Definition, by principal: String? = nil) -> [Veto] {
    var vetoes: [Veto] = []
    let permitted = permittedIdentifiers
    if !permitted.isEmpty, !permitted.contains(where: { $0.covers(definition.pattern) }) { vetoes.append(.identifier) }
    if let principal, let permitted = permissions?.principals, !permitted.contains(where: { $0.matches(principal) }) {
      vetoes.append(.principal(principal))
    }
    guard let work = definition.work else { return vetoes }
    // A worker that does not say what it permits may be too old to switch users, and would keep its own.
    if let user = work.user { vetoes += veto(of: user).map { [$0] } ?? [] }
    // A worker that does not say what it permits may be too old to know of secrets, and would leave them out.
    vetoes += missingSecrets(of: work, definition.pattern).map { .secret($0) }
    guard let permissions else { return vetoes }
    if !permissions.runsCommands, work.user == nil { vetoes.append(.root) }
    if let program = work.command.first, program.hasPrefix("/"), !program.contains("$"),
      let allowed = permissions.commands, !allowed.contains(where: { $0.matches(program) })
    {
      vetoes.append(.command(program))
    }
    if let directory = work.directory, let allowed = permissions.directories,
      !allowed.contains(where: { $0.matches(directory) })
    {
      vetoes.append(.directory(directory))
    }
    if !permissions.network, definition.requirements.network != nil { vetoes.append(.network) }
    return vetoes
  }

  private func veto(of user: String) -> Veto? {
    guard let users = permissions?.users else { return .userWithoutRoot(user) }
    return users.contains(user) ? nil : .user(user)
  }

  /// The files of the secrets that the host's owner does not permit the definition to use, in the order of their names.
  private func missingSecrets(of work: Work, _ pattern: IdentifierPattern) -> [String] {
    let permitted = permissions?.secrets ?? []
    let files = work.sortedSecrets.map(\.secret.file)
    return files.reduce(into: []) { missing, file in
      if missing.contains(file) || permitted.contains(where: { $0.permits(file, to: pattern) }) { return }
      missing.append(file)
    }
  }

  /// Why the host cannot give the level that the definition's command needs; `nil` if it can.
  package func missingSandbox(for definition: Definition) -> Obstacle? {
    guard let work = definition.work else { return nil }
    let sandbox = sandbox ?? HostSandbox(problem: "its worker does not say that it can")
    guard let level = sandbox.level(for: work), sandbox.available.map({ $0 < level }) ?? true else { return nil }
    return .sandboxUnavailable(level, why: sandbox.problem)
  }
}
