import BatonModel

/// Findings about the sandbox of commands, and about what the host's owner allows.
extension HostFacts {
  var confinementFindings: [Finding] { [sandboxFinding, interpreterFinding].compactMap { $0 } }

  private var sandboxFinding: Finding? {
    guard let sandbox else { return nil }
    let check = "sandbox"
    switch (sandbox.available, sandbox.required) {
    case (let available?, let required?) where available < required:
      return Finding(
        .access, check, .problem,
        "no command runs here: sandbox.require is \(required.rawValue), and this host gives '\(available.rawValue)' at "
          + "most: \(sandbox.problem)", remedy: Self.strictRemedy)
    case (let available?, let required?):
      let why = sandbox.problem.isEmpty ? "" : ": no '\(SandboxLevel.strict.rawValue)', because \(sandbox.problem)"
      return Finding(
        .access, check, .ok,
        "commands run in the sandbox '\(required.rawValue)'; '\(available.rawValue)' is the highest\(why)")
    case (let available?, nil):
      return Finding(
        .access, check, .warning,
        "sandbox.require is none: a command can read and change what the worker's user can, also the worker's token",
        remedy: "remove 'sandbox.require: none': this host can give '\(available.rawValue)'")
    case (nil, nil):
      return Finding(
        .access, check, .warning,
        "sandbox.require is none, and this host could give no sandbox: \(sandbox.problem)",
        remedy: "take only jobs of people whom the worker's user may trust with everything")
    case (nil, let required?):
      return Finding(
        .access, check, .problem,
        "no command runs here: sandbox.require is \(required.rawValue), and this host can give no sandbox: "
          + sandbox.problem,
        remedy:
          "install baton-exec beside baton-worker, on Linux 5.19 or later with Landlock (CONFIG_SECURITY_LANDLOCK, "
          + "and 'landlock' in lsm=); or set 'sandbox.require: none' to run commands without it")
    }
  }

  private static let strictRemedy =
    "permit user namespaces to the worker's user (user.max_user_namespaces, kernel.unprivileged_userns_clone, "
    + "kernel.apparmor_restrict_unprivileged_userns), and in a container a /proc that nothing covers; or require "
    + "'basic' in sandbox.require"

  /// Programs that run any code that they are given.
  private static let interpreters: Set = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "python", "perl", "ruby", "node", "php", "lua", "env",
    "xargs",
    "find", "awk", "gawk", "mawk", "sudo", "nice", "nohup", "timeout", "setsid", "make", "ssh",
  ]

  private var interpreterFinding: Finding? {
    guard let commands = permissions?.commands else { return nil }
    let found = commands.map(\.rawValue).filter { pattern in
      guard let name = pattern.split(separator: "/").last else { return false }
      let stem = name.prefix { $0.isLetter }
      return Self.interpreters.contains(String(name)) || Self.interpreters.contains(String(stem))
        || Self.folders.contains { PathPattern(pattern)?.matches($0 + "/sh") ?? false }
    }
    guard !found.isEmpty else {
      return Finding(.access, "allowedCommands", .ok, "allow.commands permits \(commands.count) programs or patterns")
    }
    return Finding(
      .access, "allowedCommands", .warning,
      "allow.commands permits everything: \(found.joined(separator: ", ")) runs whatever it is told to",
      remedy: "permit the programs themselves, or scripts that do not change, instead of an interpreter")
  }

  private static let folders = ["/bin", "/usr/bin"]
}
