import BatonModel
import BatonSettings
import BatonWorker

extension WorkerSettings {
  /// Reads the keys `sandbox` and `allow`.
  static func read(_ settings: Settings, into sandbox: inout SandboxSettings) {
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
    sandbox.allowsNetwork = settings.flag("allow.network") ?? true
    sandbox.allowsRoot = settings.flag("allow.root") ?? false
  }

  private static func paths(_ key: String, _ settings: Settings) -> [PathPattern]? {
    settings.list(key)?.compactMap { text in
      let pattern = PathPattern(text)
      if pattern == nil {
        settings.note(key, "'\(text)' is not an absolute path, or has '.' or '..' in it; '*' and '**' are allowed")
      }
      return pattern
    }
  }
}
