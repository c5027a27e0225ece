/// What a credential permits. Each scope permits exactly the calls that name it in `baton.proto`, and every scope but
/// `metrics` also permits reading.
package enum Scope: String, Hashable, Sendable, CaseIterable, Comparable {
  /// List, show, watch, explain and trace requests, and list hosts.
  case read
  /// Read the output and the payload of requests, which may contain data of the work itself.
  case logs
  /// Submit and poke (priority 5), and cancel or retry requests that the credential itself has submitted.
  case submit
  /// Cancel, retry, drain, evict, pause, simulate, and poke with priority 10.
  case operate
  /// Apply and remove definitions. A definition can name any command, so this means to run any command on the hosts.
  case define
  /// Everything, also hosts, credentials, backups and the audit log.
  case admin
  /// Read `/metrics`.
  case metrics

  package static func < (one: Scope, other: Scope) -> Bool {
    (allCases.firstIndex(of: one) ?? 0) < (allCases.firstIndex(of: other) ?? 0)
  }
}

extension Set<Scope> {
  /// Whether these scopes permit calls that need `scope`. Some of these calls are then limited to what the credential
  /// itself has submitted (`commandsAll`, `readsAllLogs`).
  package func permits(_ scope: Scope) -> Bool {
    if contains(.admin) || contains(scope) { return true }
    switch scope {
    case .read: return contains { $0 != .metrics }
    case .logs: return contains(.submit) || contains(.operate)
    case .submit: return contains(.operate)
    case .metrics: return contains(.read) || contains(.operate)
    case .operate, .define, .admin: return false
    }
  }

  /// Whether requests of other submitters may be cancelled and retried too.
  package var commandsAll: Bool { permits(.operate) }
  /// Whether the output and the payload of requests of other submitters may be read too.
  package var readsAllLogs: Bool { contains(.logs) || permits(.operate) }

  /// The names in the order of the cases, with commas between them.
  package var text: String { sorted().map(\.rawValue).joined(separator: ",") }

  /// - Returns: `nil` if a name is not that of a scope.
  package init?(names: [String]) {
    let scopes = names.compactMap(Scope.init)
    guard scopes.count == names.count else { return nil }
    self = Set(scopes)
  }
}
