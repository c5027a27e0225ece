package import BatonModel

/// What is counted for one namespace.
package struct NamespaceCounts: Hashable, Sendable {
  /// Requests that are scheduled or ready.
  package var pending = 0
  /// The launches that run, and the slots and GPUs that their definitions ask for.
  package var running = 0
  package var slots = 0
  package var gpus = 0
  /// The launch time of the day, without the launches that run.
  package var use = DailyUse()
  /// The slot-seconds of the launches that have ended, of which old ones count less.
  package var served = DecayedUse()

  package init() {}

  /// Adds what other coordinators have counted.
  fileprivate mutating func add(_ other: NamespaceCounts, halfLife: Duration) {
    pending += other.pending
    use = use.joined(with: other.use)
    served.join(other.served, halfLife: halfLife)
    hold(other.running, slots: other.slots, gpus: other.gpus)
  }

  fileprivate mutating func hold(_ launches: Int, slots: Int, gpus: Int) {
    running += launches
    self.slots += slots
    self.gpus += gpus
  }

  /// How many more launches with these requirements the quotas permit.
  package func room(for needs: Requirements, within quotas: Namespace.Quotas) -> Int {
    var room = Int.max
    if let limit = quotas.running { room = min(room, limit - running) }
    if let limit = quotas.slots { room = min(room, (limit - slots) / max(1, needs.slots)) }
    if let limit = quotas.gpus, let gpu = needs.gpu { room = min(room, (limit - gpus) / max(1, gpu.count)) }
    return max(0, room)
  }

  /// The quotas that one more launch with these requirements would exceed.
  package func obstacles(for needs: Requirements, in namespace: Namespace) -> [Obstacle] {
    var found: [Obstacle] = []
    if let limit = namespace.quotas.running, running >= limit {
      found.append(.namespaceRunning(namespace.name, limit: limit))
    }
    if let limit = namespace.quotas.slots, slots + needs.slots > limit {
      found.append(.namespaceSlots(namespace.name, needed: needs.slots, used: slots, limit: limit))
    }
    if let limit = namespace.quotas.gpus, let gpu = needs.gpu, gpus + gpu.count > limit {
      found.append(.namespaceGPUs(namespace.name, needed: gpu.count, used: gpus, limit: limit))
    }
    return found
  }
}

/// What this transaction knows of one namespace.
struct NamespaceRow {
  /// What this coordinator has counted, with the changes of this transaction. The numbers may be negative.
  var own = NamespaceCounts()
  /// What the other coordinators have counted.
  var others = NamespaceCounts()
  var isChanged = false
}

/// The counts of namespaces. Each coordinator has its own row for each namespace, which only it writes; the sums are
/// what the quotas limit. A group that decides by a sum near its limit locks the namespace first.
extension Verbs {
  /// Counts a launch that starts.
  func noteStart(of definition: Definition) throws {
    try changeNamespace(of: definition) { $0.hold(1, definition.requirements) }
  }

  /// Counts a launch that ends now.
  func noteEnd(of request: LaunchedRequest, _ definition: Definition, at now: Moment) throws {
    let halfLife = limits.namespaces.useHalfLife
    try changeNamespace(of: definition) { counts in
      counts.hold(-1, definition.requirements)
      counts.use.charge(now.steady - request.startedSteady, at: now.steady)
      counts.served.add(
        definition.requirements.slots, from: request.startedSteady, to: now.steady, halfLife: halfLife)
    }
  }

  /// Counts a request that became pending, or ceased to be.
  func notePending(_ change: Int, pattern id: Int64) throws {
    if limits.namespaces.isEmpty { return }
    try changeNamespace(namespace(ofPattern: id)) { $0.pending += change }
  }

  /// How many more launches of the definition its namespace permits, whichever coordinator has started the others.
  func roomInNamespace(for definition: Definition) throws -> Int {
    let namespace = limits.namespaces.namespace(of: definition.pattern)
    guard namespace.quotas.limitLaunches else { return .max }
    try need(.lockedNamespace(namespace.prefix))
    return try namespaceCounts(namespace.prefix).room(for: definition.requirements, within: namespace.quotas)
  }

  /// The quotas of its namespace that one more launch of the definition would exceed.
  func quotaObstacles(for definition: Definition) throws -> [Obstacle] {
    let namespace = limits.namespaces.namespace(of: definition.pattern)
    guard namespace.quotas.limitLaunches else { return [] }
    try need(.lockedNamespace(namespace.prefix))
    return try namespaceCounts(namespace.prefix).obstacles(for: definition.requirements, in: namespace)
  }

  /// The refusal if the namespace of a definition has too many pending requests; otherwise `nil`.
  /// - Parameter uncounted: the number of requests that other coordinators may be accepting at this moment.
  func tooManyPendingInNamespace(
    _ definition: FrozenDefinition, besides others: [FrozenDefinition], uncounted: Int
  ) throws -> Refusal? {
    let namespace = limits.namespaces.namespace(of: definition.definition.pattern)
    guard let limit = namespace.quotas.pending else { return nil }
    let count = others.count { limits.namespaces.namespace(of: $0.definition.pattern).prefix == namespace.prefix }
    var pending = try namespaceCounts(namespace.prefix).pending + count
    if pending + uncounted >= limit {
      try need(.lockedNamespace(namespace.prefix))
      pending = try namespaceCounts(namespace.prefix).pending + count
    }
    guard pending >= limit else { return nil }
    return .tooManyPending(
      limit: "quotas.pending of the namespace \(namespace.name)", allowed: limit, pending: pending)
  }

  /// What all coordinators together have counted for each namespace. Without namespaces, only what is pending is
  /// counted.
  package func namespaces() throws -> [String: NamespaceCounts] {
    try flush()
    guard !limits.namespaces.isEmpty else {
      var all = NamespaceCounts()
      all.pending = try pendingInAll()
      return ["": all]
    }
    var found: [String: NamespaceCounts] = [:]
    for row in try namespaceShares() {
      found[row.prefix, default: NamespaceCounts()].add(row.counts, halfLife: limits.namespaces.useHalfLife)
    }
    return found
  }

  /// The sum of what all coordinators have counted, with the changes of this transaction.
  private func namespaceCounts(_ prefix: String) throws -> NamespaceCounts {
    let row = try namespaceRow(prefix)
    var counts = row.own
    counts.add(row.others, halfLife: limits.namespaces.useHalfLife)
    return counts
  }

  private func namespaceRow(_ prefix: String) throws -> NamespaceRow {
    if let known = namespaceRows[prefix] { return known }
    try need(.namespaces)
    var row = NamespaceRow()
    for (coordinator, counts) in try prepare(.namespaceShare).all(prefix, row: Self.namespaceCounts) {
      if coordinator == tenure?.epoch {
        row.own = counts
      } else {
        row.others.add(counts, halfLife: limits.namespaces.useHalfLife)
      }
    }
    namespaceRows[prefix] = row
    return row
  }

  private func changeNamespace(of definition: Definition, _ body: (inout NamespaceCounts) -> Void) throws {
    if limits.namespaces.isEmpty { return }
    try changeNamespace(limits.namespaces.prefix(of: definition.pattern), body)
  }

  private func changeNamespace(_ prefix: String, _ body: (inout NamespaceCounts) -> Void) throws {
    var row = try namespaceRow(prefix)
    body(&row.own)
    row.isChanged = true
    namespaceRows[prefix] = row
  }

  /// The prefix of the namespace of a pattern. The name of a pattern never changes, so it is read once.
  private func namespace(ofPattern id: Int64) throws -> String {
    if let known = namespacesOfPatterns[id] { return known }
    try need(.pattern(id))
    guard let name = try prepare(.patternName).first(id, row: { $0.text(0) }) else {
      throw StoreError(.corrupt, "A definition in the database names a pattern that is not there.")
    }
    let prefix = limits.namespaces.prefix(of: IdentifierPattern(trusted: name))
    namespacesOfPatterns[id] = prefix
    return prefix
  }

  /// Writes back what this transaction has counted.
  func writeNamespaces() throws {
    guard let tenure else { return }
    for (prefix, row) in namespaceRows.sorted(by: { $0.key < $1.key }) where row.isChanged {
      try write(row.own, of: prefix, at: tenure.epoch)
      namespaceRows[prefix]?.isChanged = false
    }
  }

  private func write(_ counts: NamespaceCounts, of prefix: String, at epoch: Int64) throws {
    try prepare(.setNamespaceShare).run(
      prefix, epoch, counts.pending, counts.running, counts.slots, counts.gpus, counts.use.day,
      counts.use.used.nanoseconds, Int64(min(counts.served.slotSeconds * 1_000, 9e18).rounded()), counts.served.at)
  }

  // MARK: Counting again

  /// Counts again what the namespaces have: what there is in all, less what the other living coordinators have counted.
  /// So what was counted by another list of namespaces, or not at all, is right again. The uses of coordinators that
  /// have ended are taken over. Call it while nothing else is written.
  func recountNamespaces(at epoch: Int64) throws {
    if !limits.namespaces.isEmpty {
      try need(.allDefinitions)
      try need(.allRunning)
    }
    try need(.namespaces)
    try flush()
    namespaceRows.removeAll()
    let living = Set(try prepare(.livingCoordinators).all(epoch) { $0.int64(0) })
    var own = try totals()
    for (prefix, coordinator, counts) in try namespaceShares() {
      guard living.contains(coordinator) else {
        own[prefix, default: NamespaceCounts()].takeUse(of: counts, halfLife: limits.namespaces.useHalfLife)
        continue
      }
      own[prefix, default: NamespaceCounts()].pending -= counts.pending
      own[prefix]?.hold(-counts.running, slots: -counts.slots, gpus: -counts.gpus)
    }
    try prepare(.deleteNamespaceShares).run(epoch)
    if limits.namespaces.isEmpty { return }
    for (prefix, counts) in own.sorted(by: { $0.key < $1.key }) { try write(counts, of: prefix, at: epoch) }
  }

  /// What is pending and what runs, by the namespaces of this coordinator's list.
  private func totals() throws -> [String: NamespaceCounts] {
    if limits.namespaces.isEmpty { return [:] }
    var totals: [String: NamespaceCounts] = [:]
    for (name, pending) in try prepare(.pendingOfPatterns).all(row: { ($0.text(0), $0.int(1)) }) {
      totals[limits.namespaces.prefix(of: IdentifierPattern(trusted: name)), default: NamespaceCounts()].pending +=
        pending
    }
    for (id, count) in try prepare(.runningOfDefinitions).all(row: { ($0.int64(0), $0.int(1)) }) {
      let definition = try knownDefinition(DefinitionID(id)).definition
      totals[limits.namespaces.prefix(of: definition.pattern), default: NamespaceCounts()]
        .hold(count, definition.requirements)
    }
    return totals
  }

  private func namespaceShares() throws -> [(prefix: String, coordinator: Int64, counts: NamespaceCounts)] {
    try prepare(.namespaceShares).all { row in
      let (coordinator, counts) = Self.namespaceCounts(row)
      return (row.text(9), coordinator, counts)
    }
  }

  private static func namespaceCounts(_ row: Columns) -> (Int64, NamespaceCounts) {
    var counts = NamespaceCounts()
    counts.pending = row.int(1)
    counts.hold(row.int(2), slots: row.int(3), gpus: row.int(4))
    counts.use = use(row, from: 5)
    counts.served = DecayedUse(slotSeconds: Double(row.int64(7)) / 1_000, at: row.time(8))
    return (row.int64(0), counts)
  }
}

extension NamespaceCounts {
  fileprivate mutating func hold(_ launches: Int, _ needs: Requirements) {
    hold(launches, slots: launches * needs.slots, gpus: launches * (needs.gpu?.count ?? 0))
  }

  /// Takes over what a coordinator that has ended had counted of what was used.
  fileprivate mutating func takeUse(of other: NamespaceCounts, halfLife: Duration) {
    use = use.joined(with: other.use)
    served.join(other.served, halfLife: halfLife)
  }
}

extension Query {
  private static let namespaceColumns =
    "coordinator, pending, running, slots, gpus, use_day, used, served, served_at, namespace"
  static let namespaceShare = Query(
    "SELECT \(namespaceColumns) FROM namespace_share WHERE namespace = ? ORDER BY coordinator")
  static let namespaceShares = Query(
    "SELECT \(namespaceColumns) FROM namespace_share ORDER BY namespace, coordinator")
  static let setNamespaceShare = Query(
    """
    INSERT INTO namespace_share (namespace, coordinator, pending, running, slots, gpus, use_day, used, served,
      served_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (namespace, coordinator) DO UPDATE SET pending = excluded.pending, running = excluded.running,
      slots = excluded.slots, gpus = excluded.gpus, use_day = excluded.use_day, used = excluded.used,
      served = excluded.served, served_at = excluded.served_at
    """)
  static let deleteNamespaceShares = Query(
    """
    DELETE FROM namespace_share WHERE coordinator = ?1
      OR NOT EXISTS (SELECT 1 FROM coordinator c WHERE c.epoch = namespace_share.coordinator AND c.is_ended = 0)
    """)
  static let patternName = Query("SELECT name FROM pattern WHERE id = ?")
  static let pendingOfPatterns = Query(
    """
    SELECT p.name, CAST(sum(s.scheduled + s.ready) AS bigint) FROM share s JOIN pattern p ON p.id = s.pattern
    GROUP BY p.id, p.name ORDER BY p.name
    """)
  static let runningOfDefinitions = Query(
    """
    SELECT r.definition, count(*) FROM launch l JOIN request r ON r.id = l.request
    WHERE l.ended_at IS NULL GROUP BY r.definition ORDER BY r.definition
    """)
}
