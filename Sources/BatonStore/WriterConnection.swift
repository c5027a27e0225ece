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
  /// Set when the disk failed: the answer to every later write.
  private var failure: StoreError?

  init(limits: StoreLimits, cache: DefinitionCache, queuesSpans: Bool) {
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
