package import BatonModel
package import BatonProcess

/// What the host's owner says about the commands of jobs: `sandbox` and `allow` in worker.yaml.
package struct SandboxSettings: Sendable {
  /// The level without which no command runs; `nil` for `none`.
  package var required: SandboxLevel? = .basic
  package var commands: [PathPattern]?
  package var directories: [PathPattern]?
  package var allowsNetwork = true
  /// Which definitions may use which secrets; `nil` permits no secret.
  package var secrets: [SecretPermission]?
  /// Where the secrets are.
  package var secretFolder = SecretFolder()
  /// Whether commands run even if the worker is root.
  package var allowsRoot = false
  /// The users as which commands may run, if the worker is root.
  package var users: [String] = []
  /// The principals whose requests run here; `nil` means all.
  package var principals: [PrincipalPattern]?
  /// The path of `baton-exec`; `nil` if the system does not tell where this program is.
  package var helper: String? = Fence.besideThisProgram
  /// Files and folders that commands must not open, in addition to those of the worker itself.
  package var hidden: [String] = []

  package init() {}

  /// The settings that confine nothing.
  package static let off: SandboxSettings = {
    var settings = SandboxSettings()
    (settings.required, settings.allowsRoot) = (nil, true)
    return settings
  }()

  /// What the worker tells the coordinator, and decides by itself.
  package func permissions(user: UInt32) -> CommandPermissions {
    CommandPermissions(
      commands: commands, directories: directories, network: allowsNetwork, runsCommands: user != 0 || allowsRoot,
      // Without `baton-exec` no descriptor reaches a command.
      secrets: helper == nil ? nil : secrets, users: user == 0 && helper != nil ? users : nil, principals: principals)
  }
}
