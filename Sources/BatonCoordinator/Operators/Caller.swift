package import BatonModel
import BatonStore

/// Who makes a call, as the connection and the credential prove it.
package struct Caller: Hashable, Sendable {
  /// The name of the credential, or of the coordinator's own user.
  package var name: String
  /// What was shown; `nil` for the coordinator's own user, who may do everything.
  package var credential: Credential?
  /// Where the call comes from, such as `ipv4:192.0.2.7:50312`, or `unix`.
  package var peer: String

  /// The caller of the call that the current task carries out; `nil` outside of calls.
  @TaskLocal package static var current: Caller?

  package init(name: String, credential: Credential? = nil, peer: String = "unix") {
    (self.name, self.credential, self.peer) = (name, credential, peer)
  }

  // MARK: What the caller may do

  package func may(_ scope: Scope) -> Bool { credential?.scopes.permits(scope) ?? true }

  /// Whether the caller may see and change what belongs to this identifier, as far as its patterns go.
  package func covers(_ identifier: JobIdentifier) -> Bool {
    guard let patterns = limits else { return true }
    return patterns.contains { $0.matches(identifier) }
  }

  /// Whether the caller's patterns cover every identifier of this pattern.
  package func covers(_ pattern: IdentifierPattern) -> Bool {
    guard let patterns = limits else { return true }
    return patterns.contains { $0.covers(pattern) }
  }

  /// The patterns that limit the caller; `nil` if none do.
  package var limits: [IdentifierPattern]? {
    guard let patterns = credential?.patterns, !patterns.isEmpty else { return nil }
    return patterns
  }

  /// Whether the caller may cancel and retry this request, as far as the submitter goes.
  func commands(_ record: RequestRecord) -> Bool {
    credential?.scopes.commandsAll ?? true || record.principal == name
  }

  /// Whether the caller may read the output and the payload of this request.
  func readsLogs(of record: RequestRecord) -> Bool {
    guard let scopes = credential?.scopes else { return true }
    return scopes.readsAllLogs || (scopes.contains(.submit) && record.principal == name)
  }

  /// The principal of what the caller does. The coordinator's own user may name another one, because any program of
  /// that user could do so; what others say about themselves counts for nothing.
  func principal(claiming claim: String) -> String { credential == nil ? claim : name }
}
