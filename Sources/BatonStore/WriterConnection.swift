internal import BatonBase
internal import BatonModel
internal import GRDB

/// The verbs of the writer's connection, and the rules by which a group of operations is written.
///
/// `@unchecked Sendable`: GRDB's writer queue is serial, and only its blocks call this class, one at a time.
final class WriterConnection: @unchecked Sendable {
  private let limits: StoreLimits
  private let cache: DefinitionCache
  private let queuesSpans: Bool
  private let isShared: Bool
  private var opened: Verbs?
  private let folder: StoreFolder?
  /// The error that every later write is answered with; set when the disk failed, another process took the store, or
  /// the store was closed.
  private var failure: StoreError?

  /// - Parameter folder: the folder of the store, which must belong to this process whenever it writes; `nil` for a
  ///   store in memory.
  init(limits: StoreLimits, cache: DefinitionCache, queuesSpans: Bool, isShared: Bool, folder: StoreFolder?) {
    self.isShared = isShared
    self.folder = folder
    self.limits = limits
    self.cache = cache
    self.queuesSpans = queuesSpans
  }

  func verbs(of db: Database) -> Verbs {
    if let opened { return opened }
    let verbs = Verbs(db, limits: limits, cache: cache, queuesSpans: queuesSpans, isShared: isShared)
    opened = verbs
    return verbs
  }

  /// Begins the tenure of this process. Call it once, before the first write.
  func beginTenure(on db: Database) throws -> Tenure {
    let verbs = verbs(of: db)
    try verbs.transaction {
      try $0.join(as: .random(in: 1 ... .max), nextStore: RandomNumbers.name(), address: "")
    }
    guard let tenure = verbs.tenure else { preconditionFailure("a tenure was begun and is not there") }
    return tenure
  }

  /// The receipt of the last commit of this connection.
  var receipt: Receipt? { opened?.tenure?.receipt }

  func close() {
    opened = nil
    failure = StoreError(.unknown, "The store is closed.")
  }

  /// Writes a group and gives every operation its answer.
  /// - Returns: the error after which this store can write nothing more; `nil` if there was none.
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
        // An operation that threw after it had changed something is run alone, so that it does not affect the others.
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

  /// Answers the operations, and all later writes, with `error`.
  private func end(with error: StoreError, _ operations: [any Operation]) -> StoreError {
    failure = error
    for operation in operations { operation.fail(error) }
    return error
  }
}
