import BatonModel
import BatonProcess
import BatonSettings
import BatonWorker

extension WorkerSettings {
  /// Reads the keys `sandbox`, `allow` and `secrets`.
  static func read(
    _ settings: Settings, environment: [String: String], into sandbox: inout SandboxSettings
  ) {
    switch settings.text("sandbox.require") {
    case nil: break
    case "none"?: sandbox.required = nil
    case let text?:
      if let level = SandboxLevel(rawValue: text) {
        sandbox.required = level
      } else {
        let levels = ["none"] + SandboxLevel.allCases.map(\.rawValue)
        settings.note("sandbox.require", "must be one of \(levels.joined(separator: ", ")), not '\(text)'")
      }
    }
    sandbox.commands = paths("allow.commands", settings)
    sandbox.directories = paths("allow.directories", settings)
    sandbox.users = users(settings)
    sandbox.principals = principals(settings)
    sandbox.secrets = secrets(settings)
    sandbox.secretFolder = secretFolder(settings, environment: environment)
    sandbox.allowsNetwork = settings.flag("allow.network") ?? true
    sandbox.allowsRoot = settings.flag("allow.root") ?? false
  }

  /// Where the secrets are. systemd tells where the credentials are that it gave to the worker.
  private static func secretFolder(_ settings: Settings, environment: [String: String]) -> SecretFolder {
    let credentials = environment["CREDENTIALS_DIRECTORY"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    guard let path = settings.text("secrets.folder") else { return SecretFolder(credentials: credentials) }
    if !path.hasPrefix("/") { settings.note("secrets.folder", "must be an absolute path, not '\(path)'") }
    return SecretFolder(path: path, credentials: credentials)
  }

  /// The value of `allow.secrets`: for each pattern of files, identifiers with spaces between them.
  private static func secrets(_ settings: Settings) -> [SecretPermission]? {
    let key = "allow.secrets"
    return settings.mapping(key)?.sorted { $0.key < $1.key }.compactMap { files, text in
      guard let pattern = SecretPattern(files) else {
        settings.note(
          key, "'\(files)' is no file of secrets, such as db/password or db/*: no absolute path, and no '..'")
        return nil
      }
      let names = text.split(separator: " ").map(String.init)
      let identifiers = names.compactMap { name in
        let identifier = IdentifierPattern(name)
        if identifier == nil { settings.note(key, "'\(name)' is not an identifier, nor one followed by '.*'") }
        return identifier
      }
      if names.isEmpty { settings.note(key, "'\(files)' has no identifiers; write {\(files): com.example.db.*}") }
      return SecretPermission(files: pattern, identifiers: identifiers)
    }
  }

  private static func users(_ settings: Settings) -> [String] {
    let key = "allow.users"
    return (settings.list(key) ?? []).filter { name in
      let isName = UserName.isName(name) && name != "root"
      if !isName {
        settings.note(key, "'\(name)' is not the name of a user that commands may have: \(UserName.rule), and not root")
      }
      return isName
    }
  }

  private static func principals(_ settings: Settings) -> [PrincipalPattern]? {
    let key = "allow.principals"
    return settings.list(key)?.compactMap { text in
      let pattern = PrincipalPattern(text)
      if pattern == nil {
        settings.note(
          key, "'\(text)' is not the name of a principal: at most \(PrincipalPattern.maximumBytes) bytes on one line")
      }
      return pattern
    }
  }

  static func paths(_ key: String, _ settings: Settings) -> [PathPattern]? {
    settings.list(key)?.compactMap { text in
      let pattern = PathPattern(text)
      if pattern == nil {
        settings.note(key, "'\(text)' is not an absolute path, or has '.' or '..' in it; '*' and '**' are allowed")
      }
      return pattern
    }
  }
}
