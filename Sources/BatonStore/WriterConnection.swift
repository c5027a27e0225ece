internal import BatonBase
internal import BatonModel
internal import GRDB

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

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
  /// Where the rows of each group are loaded from; `nil` if the connection has the whole store.
  private let server: (any RowServer)?
  /// The loaded rows of the group that is under way; `nil` before the first one.
  private var workingSet: WorkingSet?
  /// The error that every later write is answered with; set when the disk failed, another process took the store, or
  /// the store was closed.
  private var failure: StoreError?

  /// - Parameter folder: the folder of the store, which must belong to this process whenever it writes; `nil` for a
  ///   store in memory.
  init(
    limits: StoreLimits, cache: DefinitionCache, queuesSpans: Bool, isShared: Bool, folder: StoreFolder?,
    server: (any RowServer)? = nil
  ) {
    self.server = server
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
    try transaction(on: db) {
      try $0.join(as: .random(in: 1 ... .max), nextStore: RandomNumbers.name(), address: "")
    }
    guard let tenure = verbs(of: db).tenure else { preconditionFailure("a tenure was begun and is not there") }
    return tenure
  }

  /// The receipt of the last commit of this connection.
  var receipt: Receipt? { opened?.tenure?.receipt }

  func close() {
    opened = nil
    workingSet = nil
    failure = StoreError(.unknown, "The store is closed.")
  }

  /// Answers every later write with `error`.
  func refuse(with error: StoreError) { failure = error }

  /// Writes a group and gives every operation its answer.
  /// - Returns: the error after which this store can write nothing more; `nil` if there was none.
  func write(_ group: [any Operation], to db: Database) -> StoreError? {
    if let failure {
      for operation in group { operation.fail(failure) }
      return nil
    }
    if let lost = folder?.loss { return end(with: lost, group) }
    var rest = group
    while !rest.isEmpty {
      let conflicts = rest.count > 1 ? Self.conflictsOfGroup : Self.mostConflicts
      switch attempt(on: db, rest.flatMap { server == nil ? [] : $0.keys }, conflicts, { $0.attempt(rest) }) {
      case .committed: rest = []
      case .disturbed(let index):
        // An operation that threw after it had changed something is run alone, so that it does not affect the others.
        let culprit = rest.remove(at: index)
        if let error = writeAlone(culprit, to: db) { return end(with: error, [culprit] + rest) }
      case .refused(let error) where rest.count > 1 && isAboutOneOperation(error):
        if let error = writeOneByOne(&rest, to: db) { return end(with: error, rest) }
      case .conflicted where rest.count > 1:
        if let error = writeOneByOne(&rest, to: db) { return end(with: error, rest) }
      case .refused(let error):
        for operation in rest { operation.fail(error) }
        rest = []
      case .conflicted:
        for operation in rest { operation.fail(.conflicted) }
        rest = []
      case .failed(let error): return end(with: error, rest)
      }
    }
    return nil
  }

  /// Writes the operations one after the other, and takes those that have their answer out.
  /// - Returns: as `write`.
  private func writeOneByOne(_ rest: inout [any Operation], to db: Database) -> StoreError? {
    for (index, operation) in rest.enumerated() {
      if let error = writeAlone(operation, to: db) {
        rest.removeFirst(index)
        return error
      }
    }
    rest = []
    return nil
  }

  /// Writes an operation in a transaction of its own, and gives it its answer.
  /// - Returns: as `write`.
  private func writeAlone(_ operation: any Operation, to db: Database) -> StoreError? {
    switch attempt(on: db, server == nil ? [] : operation.keys, Self.mostConflicts, { $0.attemptAlone(operation) }) {
    case .committed, .disturbed: break
    case .refused(let error): operation.fail(error)
    case .conflicted: operation.fail(.conflicted)
    case .failed(let error): return error
    }
    return nil
  }

  /// Whether the rows of one operation may be the cause, if the server has refused those of a group. The server does
  /// not say whose rows they are.
  private func isAboutOneOperation(_ error: StoreError) -> Bool {
    server != nil && [.corrupt, .refused].contains(error.code)
  }

  /// Runs `body` in a transaction of its own.
  /// - Parameter needs: what `body` is known to need, if it runs on loaded rows.
  func transaction(on db: Database, needing needs: KnownNeeds = .nothing, _ body: (Verbs) throws -> Void) throws {
    do {
      try onRows(of: needs.keys, db, Self.mostConflicts) { try $0.transaction(body) }
    } catch is RowConflict {
      throw StoreError.conflicted
    }
  }

  private func attempt(
    on db: Database, _ keys: [RowKey], _ conflicts: Int, _ body: (Verbs) -> Attempt
  ) -> Attempt {
    do {
      return try onRows(of: keys, db, conflicts, body)
    } catch is RowConflict {
      return .conflicted
    } catch {
      let error = StoreError(anything: error)
      return [.unknown, .newerVersion].contains(error.code) ? .failed(error) : .refused(error)
    }
  }

  /// Runs `body`, which is one transaction, on the rows that it needs: on the whole store, or on loaded rows. Then it
  /// runs again if it turns out to need more rows, or if another group has inserted the same row.
  /// - Parameter most: how many conflicts there may be.
  /// - Throws: `RowConflict` if there were more.
  private func onRows<Result>(
    of known: [RowKey], _ db: Database, _ most: Int, _ body: (Verbs) throws -> Result
  ) throws -> Result {
    let verbs = verbs(of: db)
    guard let server else { return try body(verbs) }
    let group = ObjectIdentifier(self).hashValue
    let workingSet = try self.workingSet ?? WorkingSet(db)
    self.workingSet = workingSet
    // What a busy coordinator writes most is counted for namespaces too.
    var keys = known.isEmpty || limits.namespaces.isEmpty ? known : known + [.namespaces]
    var conflicts = 0
    while true {
      guard let (held, rows) = try server.load(keys, for: verbs.tenure?.epoch, by: group) else {
        sched_yield()
        continue
      }
      // The rows are released on every path, also if they cannot be filled into the working set.
      defer { server.release(group) }
      let tenure = verbs.tenure
      try workingSet.fill(rows)
      verbs.hold(held)
      let result = Swift.Result { try body(verbs) }
      let (missing, used) = (verbs.held?.missing ?? [], verbs.held)
      verbs.held = nil
      do {
        let changes = try missing.isEmpty ? workingSet.changes(since: rows, by: verbs.changes) : []
        try workingSet.clear(rows, and: verbs.changes)
        if missing.isEmpty {
          if changes.isEmpty { used?.giveBack() } else { try server.store(changes, by: group) }
          return try result.get()
        }
      } catch is RowConflict where conflicts < most {
        conflicts += 1
      } catch {
        // What the verbs have counted was not stored.
        if case .success = result { forgetGroup(of: verbs, tenure, used) }
        throw error
      }
      forgetGroup(of: verbs, tenure, used)
      keys += missing
    }
  }

  /// How often one write runs again because another group has changed the same rows, and how often a group of several
  /// does. After that the group's writes run one by one, because one of them may be what cannot be stored.
  private static let (mostConflicts, conflictsOfGroup) = (100, 5)

  /// Forgets what a group has counted and drawn, because nothing of it was stored.
  private func forgetGroup(of verbs: Verbs, _ tenure: Tenure?, _ used: HeldRows?) {
    used?.giveBack()
    verbs.forget()
    verbs.tenure = tenure
  }

  /// Answers the operations, and all later writes, with `error`.
  private func end(with error: StoreError, _ operations: [any Operation]) -> StoreError {
    failure = error
    for operation in operations { operation.fail(error) }
    return error
  }
}

extension StoreError {
  /// Other changes of the same rows came first, again and again.
  fileprivate static let conflicted = StoreError(
    .unavailable, "Other changes of the same rows came first. Nothing was changed; try again.")
}
