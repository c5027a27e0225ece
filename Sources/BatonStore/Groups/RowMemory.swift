internal import BatonModel
internal import Synchronization

/// What earlier groups have learnt about which rows belong to names and to requests. With it a group locks its rows
/// without looking them up first. It is only a guess, because others may have changed the rows since: the locked rows
/// say whether it was right, and otherwise the group begins again and looks everything up.
final class RowMemory: Sendable {
  struct Known {
    /// The numbers of identifiers, by their names.
    var identifiers: [String: Int64] = [:]
    /// The identifier and the definition of each request.
    var requests: [Int64: (identifier: Int64, definition: Int64)] = [:]
    /// The numbers of hosts, by their names.
    var hosts: [String: Int64] = [:]
    /// Whether names that were not known here turned out to have no row when they were looked up last.
    var unknownNamesAreNew = false
  }

  private let known = Mutex(Known())

  /// How many names or requests are kept. Beyond it everything is forgotten, and learnt again.
  private static let capacity = 100_000

  func with<Result>(_ body: (inout Known) -> sending Result) -> sending Result { known.withLock { body(&$0) } }

  func note(request: Int64, _ identifier: Int64, _ definition: Int64) {
    known.withLock { known in
      if known.requests.count >= Self.capacity { known.requests.removeAll() }
      known.requests[request] = (identifier, definition)
    }
  }

  func note(identifier: Int64, named name: String) {
    known.withLock { known in
      if known.identifiers.count >= Self.capacity { known.identifiers.removeAll() }
      known.identifiers[name] = identifier
    }
  }

  func note(host: Int64, named name: String) {
    known.withLock { known in
      if known.hosts.count >= Self.capacity { known.hosts.removeAll() }
      known.hosts[name] = host
    }
  }

  /// Notes the rows that a group has inserted.
  func note(_ changes: [RowChange]) {
    for change in changes {
      guard case .insert(let row) = change.kind, let id = change.key.first?.number else { continue }
      func cell(_ column: String) -> Cell { change.table.columns.firstIndex(of: column).map { row[$0] } ?? .null }
      switch change.table.name {
      case "request": note(request: id, cell("identifier").number, cell("definition").number)
      case "identifier": note(identifier: id, named: cell("name").string)
      default: break
      }
    }
  }
}
