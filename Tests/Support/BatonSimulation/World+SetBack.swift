import BatonCoordinator
import BatonCore
import BatonModel
import BatonStore

/// What is known when the store has been set back.
struct Aftermath {
  /// The coordinators, by the numbers of their processes, of which the store lacks commits.
  var deprived: Set<Int>
  /// The name of the store before.
  var name: String
  /// Whether someone can notice that the store went backwards: a coordinator that lives, or a worker.
  var isNoticeable: Bool
  /// Whether a person has looked, and has let the fleet go on.
  var isResumed = false
}

/// A store that is set back while the fleet runs, as if an old backup or a standby that was behind had taken its place
/// (promise P12).
extension World {
  /// How long the fleet has to notice that its store went backwards. Every coordinator writes at least once a second.
  private static let timeToNotice = Duration.seconds(10)

  func planSetBack(at time: Duration, by distance: Duration) {
    after(time - distance, for: .world) { [self] in
      let copy = try SQLiteStore.copy(of: store.verbs)
      after(distance, for: .world) { try self.setBack(to: copy) }
    }
  }

  private func setBack(to copy: StoreCopy) throws {
    note("the store is set back")
    count(.fault, "set back")
    try undoFaults()
    let living = ready.compactMap { coordinator in coordinator.store.verbs.receipt.map { (coordinator.life, $0) } }
    let receipts = workers.filter(\.isAlive).flatMap(\.core.receipts)
    try SQLiteStore.setBack(store.verbs, to: copy)
    journal.isVoid = true
    let (deprived, isAhead, fleet) = try store.transaction { verbs in
      (
        Set(try living.filter { try verbs.standing(of: [$0.1]).isAhead }.map(\.0)),
        try verbs.standing(of: receipts).isAhead, try verbs.fleet()
      )
    }
    aftermath = Aftermath(
      deprived: deprived, name: fleet.storeIncarnation, isNoticeable: !deprived.isEmpty || isAhead)
    after(Self.timeToNotice, for: .world) { try self.checkNoticed() }
  }

  /// Checks what a coordinator has committed to a store that was set back.
  func checkAftermath(_ news: StoreNews, by coordinator: SimulatedCoordinator) throws {
    guard let aftermath, !aftermath.isResumed, aftermath.deprived.contains(coordinator.life) else { return }
    guard case .claimed(_, let answers) = news, answers.contains(where: { !$0.assignments.isEmpty }) else { return }
    throw journal.violation(.setBack, "\(coordinator.name) has started a launch, and the store lacks its commits")
  }

  /// The fleet is paused by now, under another name of the store, and a person lets it go on.
  private func checkNoticed() throws {
    guard let aftermath else { return }
    let fleet = try store.transaction { try $0.fleet() }
    if aftermath.isNoticeable {
      guard fleet.isPaused, fleet.storeIncarnation != aftermath.name else {
        throw journal.violation(
          .setBack, "no process has noticed that the store went backwards (paused: \(fleet.isPaused))")
      }
    }
    self.aftermath?.isResumed = true
    after(.seconds(3), for: .world) { try self.checkRecovery(from: self.now) }
  }

  /// Waits until the fleet works again: a coordinator runs, and every worker is connected. A worker that comes back
  /// with receipts of lost commits pauses the fleet once more.
  private func checkRecovery(from start: Instant) throws {
    let fleet = try store.transaction { try $0.fleet() }
    if fleet.isPaused { anyCoordinator()?.setPaused(false) }
    guard !ready.isEmpty, !fleet.isPaused, workers.allSatisfy({ $0.isWelcomed && $0.isAlive }) else {
      // Handlers may still kill the processes of their workers.
      if now - start < .seconds(120) { return after(.seconds(3), for: .world) { try self.checkRecovery(from: start) } }
      throw journal.violation(
        .setBack,
        "the fleet does not go on: \(ready.count) coordinators, paused \(fleet.isPaused), "
          + "\(workers.count { $0.isWelcomed && $0.isAlive }) workers")
    }
    isOver = true
  }
}

extension ReceiptStanding {
  fileprivate var isAhead: Bool { if case .ahead = self { true } else { false } }
}
