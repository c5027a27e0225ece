import BatonModel

/// Findings about the user that runs Baton, the tokens, and the socket for the host's owner.
extension HostFacts {
  var accessFindings: [Finding] {
    [userFinding] + tokens.compactMap { tokenFinding($0) } + [ownerFinding].compactMap { $0 } + confinementFindings
  }

  private var userFinding: Finding {
    guard user.id == 0, roles.contains(.worker) else {
      return Finding(.access, "user", .ok, "this is \(user.name) (\(user.id))")
    }
    if let users = permissions?.users, !users.isEmpty, permissions?.runsCommands == false {
      return Finding(
        .access, "user", .ok,
        "this is root: only jobs that name one of the users \(users.joined(separator: ", ")) run their commands here")
    }
    guard permissions?.runsCommands ?? true else {
      return Finding(
        .access, "user", .warning, "this is root: a worker that runs as root takes no job with a command",
        remedy: "give workers a user of their own, as Deploy/README.md shows it, or set 'allow.root: true'")
    }
    return Finding(
      .access, "user", .warning, "this is root: a worker that runs as root runs every command as root",
      remedy: "give workers a user of their own, as Deploy/README.md shows it")
  }

  /// The finding about a token; `nil` if there is nothing to report.
  private func tokenFinding(_ token: Token) -> Finding? {
    let check = token.check
    guard case .there(let owner, let mode) = token.state else {
      guard token.kind == .named else { return nil }
      return Finding(
        .access, check, .problem, "the token file \(token.path) is not there, or cannot be seen by \(user.name)",
        remedy: "copy the coordinator's token there (mode 0600), or correct BATON_TOKEN_FILE or tokenFile")
    }
    if mode & 0o077 != 0 {
      return Finding(
        .access, check, .problem,
        "the token \(token.path) has mode \(mode.inOctal): other users of this machine may command the fleet with it",
        remedy:
          "chmod 600 \(token.path); if other users may have read it, remove it and restart the coordinator, which "
          + "creates a new token")
    }
    guard token.isReadable else {
      return Finding(
        .access, check, .problem, "the token \(token.path) belongs to user \(owner) and cannot be read by \(user.name)",
        remedy: "run this as that user, or copy it for \(user.name) (mode 0600) and set BATON_TOKEN_FILE")
    }
    if owner != user.id, user.id != 0 {
      return Finding(
        .access, check, .warning, "the token \(token.path) belongs to user \(owner)",
        remedy: "chown \(user.name) \(token.path)")
    }
    return Finding(.access, check, .ok, "the token \(token.path) can be read by its owner only (mode \(mode.inOctal))")
  }

  private var ownerFinding: Finding? {
    switch owner {
    case .answers(let path): return Finding(.access, "ownerSocket", .ok, "the worker of this host answers at \(path)")
    case .several(let workers):
      return Finding(
        .access, "ownerSocket", .ok, "\(workers.count) workers of this host answer: \(workers.joined(separator: ", "))")
    case .absent: return Finding(.access, "ownerSocket", .ok, "no worker runs here, as far as \(user.name) can see")
    case .notPermitted(let why):
      return Finding(
        .access, "ownerSocket", .warning, why,
        remedy: "to pause the host: sudo usermod -aG baton-owner \(user.name), then log in again")
    case nil: return nil
    }
  }
}

extension HostFacts.Token {
  fileprivate var check: String {
    switch kind {
    case .own: "token"
    case .published: "publishedToken"
    case .named: "tokenFile"
    }
  }
}
