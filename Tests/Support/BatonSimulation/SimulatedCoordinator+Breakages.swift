import BatonCoordinator
import BatonModel
import BatonStore

/// The bugs that are planted in this shell, and what is noted of its orders.
extension SimulatedCoordinator {
  /// The time by which leases end. The breakage `leasesByWallClock` takes it from the wall clock.
  func leaseTime(_ now: Now) -> Now {
    guard world.breakage == .leasesByWallClock else { return now }
    var wrong = now
    wrong.instant = Instant(nanoseconds: now.date.nanoseconds - Journal.epoch.nanoseconds)
    return wrong
  }

  /// Ends all leases after a restart, for the breakage `losesLeasesAtRestart`.
  func loseLeases(_ fleet: FleetRecord) throws {
    guard world.breakage == .losesLeasesAtRestart else { return }
    for host in fleet.hosts {
      guard let lease = dispatcher.hosts[host.name]?.ownLease else { continue }
      try decide { _ in [.endLease(lease, countsAsLoss: true)] }
    }
  }

  /// Notes an order that the core has given.
  func notice(_ order: StoreOrder) {
    switch order {
    case .grantLease(_, let hello, _): machine.heard[hello.host] = world.now
    case .endLease(let lease, _): world.note("\(name): ends the lease of \(lease.host) \(lease.incarnation)")
    case .checkpoint(let id, let checkpoints, _) where world.breakage == .answersBeforeCommit:
      for checkpoint in checkpoints { sessions[id]?.send(.committed(checkpoint.launch, batch: checkpoint.batch)) }
    case .endLeaseElsewhere, .noteAway, .beat, .endCoordinator, .readFleet, .readDefinitions, .examine, .renew,
      .checkpoint, .learn, .claim, .promote, .findReady, .endOverrun, .noteExpiry, .note, .noteReports, .noteUses,
      .readAssignments, .appendItems, .readItems, .appendOutput, .end, .submit:
      break
    }
  }

  /// The store's answer, as the breakage `forgetsRequeue` falsifies it.
  func broken(_ news: StoreNews) -> StoreNews {
    guard world.breakage == .forgetsRequeue,
      case .ended(let id, let endings, let checkpoints, let answers, let host) = news
    else { return news }
    let forgotten = answers.map { answer in
      var answer = answer
      (answer.state, answer.released, answer.nextDue) = (.scheduled, nil, NextDue())
      return answer
    }
    return .ended(id, endings, after: checkpoints, forgotten, of: host)
  }
}
