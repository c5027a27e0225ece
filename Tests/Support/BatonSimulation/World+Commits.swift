import BatonCoordinator
import BatonModel
import BatonStore

extension World {
  /// Tells the journal what the store has committed for an order of the coordinator. The journal hears of it before the
  /// coordinator does.
  func committed(
    _ news: StoreNews, of order: StoreOrder, by coordinator: SimulatedCoordinator, at time: Journal.Time
  ) throws {
    count(order, news)
    if aftermath != nil { return try checkAftermath(news, by: coordinator) }
    switch news {
    case .claimed(let reservations, let answers):
      for (reservation, answer) in zip(reservations, answers) {
        for assignment in answer.assignments {
          try started(assignment, under: reservation.lease, by: coordinator.machine, at: time)
        }
      }
    case .leaseEnded(let lease, let answers):
      guard case .endLease(_, let countsAsLoss) = order else { break }
      if let heard = coordinator.endedLeases.removeValue(forKey: lease) {
        try checkEndOfLease(lease, by: coordinator, heard: heard, countsAsLoss: countsAsLoss)
      }
      for answer in answers { try journal.ended(answer, as: .lost, isBlameless: !countsAsLoss, at: time) }
    case .leaseEndedElsewhere(_, let answers):
      guard case .endLeaseElsewhere(_, let countsAsLoss) = order else { break }
      for answer in answers { try journal.ended(answer, as: .lost, isBlameless: !countsAsLoss, at: time) }
    case .leaseGranted(_, let grant):
      for answer in grant.ended { try journal.ended(answer, as: .lost, at: time) }
    case .overrunEnded(let answers):
      guard case .endOverrun(let endings, _) = order else { break }
      try ended(endings, answers, at: time)
    case .ended(_, let endings, let checkpoints, let answers, _):
      for checkpoint in checkpoints {
        guard let answer = answers.first(where: { $0.launch == checkpoint.launch })?.checkpoint else { continue }
        try journal.checkpointed(checkpoint, answer)
      }
      try ended(endings, answers, at: time)
    case .expiryNoted(let launch, let reason, _):
      // The coordinator that serves the host next hears of the stall and notes it again.
      let isFirst = journal.launches[launch]?.asked == nil
      if reason == .stalled, isFirst, let idle = coordinator.stalls[launch] {
        try journal.checkStall(of: launch, decidedAfter: idle)
      }
      journal.noted(reason, of: launch)
    case .checkpointed(_, let checkpoints, let answers, _):
      for (checkpoint, answer) in zip(checkpoints, answers) { try journal.checkpointed(checkpoint, answer) }
    case .itemsAppended(_, let page, let answer, _):
      journal.launches[page.launch]?.steppedAt = journal.now
      if case .committed(_, true, let end?, _) = answer { journal.requests[page.launch.request]?.shard?.end = end }
    case .itemsRead(_, let page, _, _):
      journal.launches[page.launch]?.steppedAt = journal.now
    case .promoted(let promotion):
      for cancellation in promotion.replaced { try journal.cancelled(cancellation, by: "schedule") }
    case .learned, .foundReady, .noted, .reportsNoted, .usesNoted, .assignmentsRead, .awayNoted, .beaten,
      .coordinatorEnded, .fleetRead, .definitionsRead, .examined, .renewed,
      .outputAppended, .submitted:
      break
    }
  }

  private func ended(_ endings: [Ending], _ answers: [EndingAnswer], at time: Journal.Time) throws {
    for (ending, answer) in zip(endings, answers) {
      try journal.expect(
        answer.launch == ending.launch, .outcome, "the ending of \(ending.launch) counts for \(answer.launch)")
      journal.found(ending.result, answer)
      let hasFailed = ending.result == .failed && ending.outcome == .finished
      try journal.ended(answer, as: hasFailed ? .failed("reported") : ending.outcome, at: time)
    }
  }
}
