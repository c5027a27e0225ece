internal import BatonModel
internal import GRDB

/// The verbs of the writer's connection, and the rules of writing a group with them.
///
/// Unchecked: only GRDB's serial writer queue calls it, one block at a time.
final class WriterConnection: @unchecked Sendable {
  private let limits: StoreLimits
  private let cache: DefinitionCache
  private let queuesSpans: Bool
  private var opened: Verbs?
  private let folder: StoreFolder?
  /// Set when the disk failed: the answer to every later write.
  private var failure: StoreError?

  /// - Parameter folder: that has to be this process's own as long as it writes; nil in memory.
  init(limits: StoreLimits, cache: DefinitionCache, queuesSpans: Bool, folder: StoreFolder?) {
    self.folder = folder
    self.limits = limits
    self.cache = cache
    self.queuesSpans = queuesSpans
  }

  func verbs(of db: Database) -> Verbs {
    if let opened { return opened }
    let verbs = Verbs(db, limits: limits, cache: cache, queuesSpans: queuesSpans)
    opened = verbs
    return verbs
  }

  /// Raises the store's epoch: every write from now on is refused to whoever had it before, and to this connection once
  /// another one does the same. Call it once, before the first write.
  /// - Parameter name: drawn, and never the same twice.
  func beginTenure(_ name: Int64, on db: Database) throws -> Tenure {
    let verbs = verbs(of: db)
    try verbs.transaction { try $0.beginTenure(name) }
    guard let tenure = verbs.tenure else { preconditionFailure("a tenure was begun and is not there") }
    return tenure
  }

  /// How far the store is, by the last commit of this connection.
  var receipt: Receipt? { opened?.tenure?.receipt }

  func close() {
    opened = nil
    failure = StoreError(.unknown, "The store is closed.")
  }

  /// Gives every operation of the group what it is to answer. Returns the error that ended this store, if one did.
  func write(_ group: [any Operation], to db: Database) -> StoreError? {
    if let failure {
      for operation in group { operation.fail(failure) }
      return nil
    }
    if let lost = folder?.loss { return end(with: lost, group) }
    let verbs = verbs(of: db)
    var rest = group
    while !rest.isEmpty {
      switch verbs.attempt(rest) {
      case .committed: rest = []
      case .disturbed(let index):
        // What threw halfway is run alone, so that it disturbs no other.
        let culprit = rest.remove(at: index)
        switch verbs.attemptAlone(culprit) {
        case .committed, .disturbed: break
        case .refused(let error): culprit.fail(error)
        case .failed(let error): return end(with: error, [culprit] + rest)
        }
      case .refused(let error):
        for operation in rest { operation.fail(error) }
        rest = []
      case .failed(let error): return end(with: error, rest)
      }
    }
    return nil
  }

  private func end(with error: StoreError, _ operations: [any Operation]) -> StoreError {
    failure = error
    for operation in operations { operation.fail(error) }
    return error
  }
}
