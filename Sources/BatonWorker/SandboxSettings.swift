public import BatonModel
package import BatonProcess

/// What the host's owner says about the commands of jobs: `sandbox`, `allow` and `secrets` in worker.yaml.
/// `Documentation/reference/security.md` says what a sandbox keeps from commands.
public struct SandboxSettings: Sendable {
  /// The level without which no command runs, by default `basic`; `nil` for none. Key `sandbox.require`.
  public var required: SandboxLevel? = .basic
  /// The programs that commands may be; `nil`, the default, permits all, and an empty list none. Key `allow.commands`.
  public var commands: [PathPattern]?
  /// The working directories that definitions may name; `nil`, the default, permits all. Key `allow.directories`.
  public var directories: [PathPattern]?
  /// Whether commands get a network, by default `true`. Key `allow.network`.
  public var allowsNetwork = true
  /// Which definitions may use which secrets; `nil`, the default, permits no secret. Key `allow.secrets`.
  public var secrets: [SecretPermission]?
  /// Where the secrets are.
  package var secretFolder = SecretFolder()
  /// The folder with the secrets: an absolute path, by default `/etc/baton/secrets`. Key `secrets.folder`.
  public var secretsFolder: String {
    get { secretFolder.path }
    set { secretFolder.path = newValue }
  }
  /// Whether commands run even if the worker is root, by default `false`. Key `allow.root`.
  public var allowsRoot = false
  /// The users as which commands may run, if the worker is root; by default none. Key `allow.users`.
  public var users: [String] = []
  /// The principals whose requests run here; `nil`, the default, means all. Key `allow.principals`.
  public var principals: [PrincipalPattern]?
  /// The path of `baton-exec`, which fences commands in; by default the file of this name beside this program. `nil` if
  /// there is none: then no command runs unless `required` is `nil`.
  public var helper: String? = Fence.besideThisProgram
  /// Files and folders that commands must not open, in addition to those of the worker itself; by default none.
  public var hidden: [String] = []

  /// Creates the default settings.
  public init() {}

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
