package import BatonModel
package import BatonProcess

/// How a worker confines the commands of one launch: what its host's owner permits, and the sandbox.
package struct CommandConfinement: Sendable {
  package var permissions: CommandPermissions
  /// The path of `baton-exec`; `nil` if it is not known.
  package var helper: String?
  package var level: SandboxLevel?
  package var hidden: [String]
  /// The hidden folders that have to be the same ones as at the worker's start.
  package var places: [FolderPlace] = []
  /// Where the secrets are that the owner permits.
  package var secrets: SecretFolder

  /// - Parameter hidden: the files and folders that the command must not open, apart from its launch's own folder.
  package init(
    permissions: CommandPermissions = CommandPermissions(), helper: String? = nil, level: SandboxLevel? = nil,
    hidden: [String] = [], secrets: SecretFolder = SecretFolder()
  ) {
    self.permissions = permissions
    self.helper = helper
    self.level = level
    self.hidden = hidden
    self.secrets = secrets
  }

  /// Lets a command do what the worker's user may do.
  package static let none = CommandConfinement()

  /// Throws if another folder has taken the place of a hidden one: the fence would hide the wrong folder.
  func demandPlaces(on host: HostName) throws(CommandError) {
    guard level != nil, let lost = places.first(where: { !$0.isUnchanged }) else { return }
    throw CommandError(
      .host,
      "\(host) runs no command: \(lost.path), which is hidden from commands, is not the folder that it was when the "
        + "worker started. Put that folder back, or start the worker again")
  }

  /// The fence for a command; `nil` if nothing is limited.
  /// - Parameters:
  ///   - hasSecrets: whether the command gets secrets. `baton-exec` then takes their descriptors, and keeps them out of
  ///     core dumps.
  ///   - user: the user as which the command runs; `nil` means the worker's user.
  ///   - needsNetwork: whether the definition requires a network. In `strict`, others have none.
  /// - Throws: `CommandError` if the owner does not permit the program or the directory.
  func fence(
    around executable: CommandExecutable, folder: String, hasSecrets: Bool, as user: CommandUser? = nil,
    needsNetwork: Bool = false
  ) throws(CommandError) -> Fence? {
    let program = try permitted(executable)
    let directory = try permitted(executable.directory, on: executable.host, folder: folder)
    let limits = level != nil || !permissions.network || program != nil || directory != nil
    guard limits || hasSecrets || user != nil else { return nil }
    guard let helper else {
      throw CommandError(.notPermitted, "\(executable.host) cannot fence commands in: this system has no sandbox")
    }
    return Fence(
      helper: helper, level: level, hidden: hidden, kept: folder, writable: writable(executable.directory),
      forbidsNetwork: !permissions.network, separatesNetwork: !needsNetwork || !permissions.network, user: user,
      program: program, directory: directory, forbidsCores: hasSecrets)
  }

  /// What a command in `strict` may write to, besides its launch's folder: its working directory, and the directories
  /// that the host's owner names, with everything in them. A pattern with another wildcard than a final `/**` names no
  /// such directory.
  private func writable(_ directory: String) -> [String] {
    [directory] + (permissions.directories ?? []).compactMap(\.folder)
  }

  /// The real path of the program, if the owner limits programs.
  private func permitted(_ executable: CommandExecutable) throws(CommandError) -> String? {
    guard let allowed = permissions.commands else { return nil }
    guard let real = SystemCall.realPath(of: executable.path), allowed.contains(where: { $0.leads(to: real) }) else {
      throw .notPermitted(.command(SystemCall.realPath(of: executable.path) ?? executable.path), on: executable.host)
    }
    return real
  }

  /// The real path of the working directory, if the owner limits directories.
  private func permitted(
    _ directory: String, on host: HostName, folder: String
  ) throws(CommandError) -> String? {
    guard let allowed = permissions.directories else { return nil }
    let real = SystemCall.realPath(of: directory)
    guard let real, real.hasPrefix(folder + "/") || allowed.contains(where: { $0.leads(to: real) }) else {
      throw .notPermitted(.directory(real ?? directory), on: host)
    }
    return real
  }
}

extension PathPattern {
  /// Whether the pattern names this file. A pattern without wildcards may also be a link to it, such as `/bin/sh`,
  /// because the owner named the link.
  fileprivate func leads(to real: String) -> Bool {
    matches(real) || (isLiteral && SystemCall.realPath(of: rawValue) == real)
  }
}

extension CommandError {
  static func notPermitted(_ veto: Veto, on host: HostName) -> CommandError {
    let obstacle = Obstacle.notPermittedOnHost(veto)
    return CommandError(.notPermitted, "\(host): \(obstacle.text); \(obstacle.remedy)")
  }
}

extension Capabilities {
  /// Throws if the host's owner does not permit the definition, or if its command cannot be fenced in as it has to be.
  /// A coordinator that knows this host assigns no such launch; the worker does not rely on that.
  /// - Parameter principal: who submitted the request, in the words of the coordinator.
  func demandPermission(for definition: Definition, by principal: String, on host: HostName) throws(CommandError) {
    let obstacles =
      vetoes(of: definition, by: principal).map { .notPermittedOnHost($0) } + [missingSandbox(for: definition)]
    guard let obstacle = obstacles.compactMap({ $0 }).first else { return }
    throw CommandError(.notPermitted, "\(host): \(obstacle.text); \(obstacle.remedy)")
  }
}
