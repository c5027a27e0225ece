import BatonBase
package import BatonModel
package import BatonStore
import BatonTelemetry
import BatonWire
import Synchronization

extension Coordinator {
  /// Accepts requests, and starts those at once that a host is free for: then submission and claim are one transaction.
  /// Answers in the same order; one refusal disturbs no other.
  package func submit(_ submissions: [Submission]) async throws -> [SubmissionAnswer] {
    guard state.withLock({ $0.isAccepting }) else {
      return submissions.map { _ in .refused(.unavailable("it is shutting down; submit again in a moment")) }
    }
    let now = now().moment
    // Of many, those that a host is free for are claimed together right after: to look for a place for each would take
    // long in a large fleet.
    let isFew = submissions.count <= Self.startedAtOnce
    let plans = state.withLock { state in
      submissions.map { state.plan($0, startsAtOnce: isFew, permitted: settings.permittedIdentifiers, at: now) }
    }
    let urgent = plans.filter(\.mustStart)
    async let immediate = takeAtOnce(urgent)
    var answers = try await take(plans.filter { !$0.mustStart })[...]
    var atOnce = try await immediate[...]
    return plans.map { plan in
      switch plan {
      case .refused(let refusal): .refused(refusal)
      case .offered: plan.mustStart ? atOnce.removeFirst() : answers.removeFirst()
      }
    }
  }

  /// How long a submission that must start at once waits for the store (contract, row 35).
  static let immediateAnswer = Duration.seconds(1)

  /// The same for submissions of strategy `fail`, which are answered within `immediateAnswer`: what the store has not
  /// begun to take by then is withdrawn, refused, and leaves nothing behind. A commit that has begun is waited for,
  /// because it decides.
  private func takeAtOnce(_ plans: [SubmissionPlan]) async throws -> [SubmissionAnswer] {
    if plans.isEmpty { return [] }
    return try await withThrowingTaskGroup(of: [SubmissionAnswer]?.self) { group in
      group.addTask { try await self.take(plans) }
      group.addTask {
        try? await self.clocks.sleep(Self.immediateAnswer)
        return nil
      }
      defer { group.cancelAll() }
      if case .some(.some(let answers)) = try await group.next() { return answers }
      group.cancelAll()
      do {
        while let result = try await group.next() { if let result { return result } }
      } catch is CancellationError {}
      return plans.compactMap(\.offer).map(\.tooLate)
    }
  }

  /// So many submissions of one call are started in the transaction that stores them.
  private static let startedAtOnce = 8

  /// Of the plans that are offered, in their order.
  private func take(_ plans: [SubmissionPlan]) async throws -> [SubmissionAnswer] {
    let offers = plans.compactMap(\.offer)
    let answers: [SubmissionAnswer]
    do {
      answers = offers.isEmpty ? [] : try await store.submit(offers, at: now().moment)
    } catch {
      decide { state in
        plans.compactMap(\.reservation).flatMap { state.dispatcher.settle($0, with: [], hasMore: true) }
      }
      throw error
    }
    decide { state in
      zip(plans.filter { $0.offer != nil }, answers).flatMap { plan, answer in
        state.note(answer, of: plan)
      }
    }
    dispatchSignal.raise()
    noteSpans(answers.count)
    for case .accepted(let receipt, _, let launch, _) in answers {
      if let launch { log(starts: [launch]) }
      watchers.changed(receipt.request)
    }
    return answers
  }
}

/// What the dispatcher makes of a submission before the store has it.
enum SubmissionPlan {
  case refused(Refusal)
  /// - Parameter mustStart: it is refused rather than kept waiting.
  case offered(SubmissionOffer, Dispatcher.Reservation?, mustStart: Bool)

  var mustStart: Bool { if case .offered(_, _, let mustStart) = self { mustStart } else { false } }
  var offer: SubmissionOffer? { if case .offered(let offer, _, _) = self { offer } else { nil } }
  var reservation: Dispatcher.Reservation? {
    if case .offered(_, let reservation, _) = self { reservation } else { nil }
  }
}

extension Coordinator.State {
  /// - Parameters:
  ///   - startsAtOnce: on a host that is free, if nobody waits that goes first.
  ///   - permitted: what may be defined here; empty means everything. A definition that was applied before the
  ///   configuration forbade it is of no use.
  mutating func plan(
    _ submission: Submission, startsAtOnce: Bool, permitted: [IdentifierPattern], at now: Moment
  ) -> SubmissionPlan {
    guard let stored = index.definition(for: submission.identifier),
      permitted.isEmpty || permitted.contains(where: { $0.covers(stored.definition.pattern) })
    else {
      return .refused(.notPermitted(submission.identifier, nearest: index.nearest(to: submission.identifier)))
    }
    do throws(DefinitionProblem) {
      if let problem = stored.problem { throw problem }
      try stored.definition.validate(submission.identifier)
    } catch {
      return .refused(.unusable(submission.identifier, error))
    }
    dispatcher.learn(stored.id, stored.definition)
    // One that would rather fail than wait overtakes those that wait already.
    let mustStart = stored.definition.strategy == .fail
    // Not at once: an id that is known gets the answer it got then.
    if dispatcher.isPaused {
      let refusal = Refusal.unavailable("the fleet is paused: 'baton resume' ends that")
      let offer = SubmissionOffer(submission: submission, definition: stored.id, refusal: refusal)
      return .offered(offer, nil, mustStart: mustStart)
    }
    let requirementClass = RequirementClass(
      definition: stored.id, priority: submission.priority ?? stored.definition.priority)
    guard mustStart || startsAtOnce && dispatcher.mayStartAtOnce(requirementClass),
      let reservation = dispatcher.reserve(requirementClass, submission.identifier, count: 1).first
    else {
      let refusal =
        mustStart
        ? Refusal.immediateRunIneligible(
          obstacles(for: stored.definition, submission.identifier, requirementClass.priority, at: now)) : nil
      let offer = SubmissionOffer(submission: submission, definition: stored.id, refusal: refusal)
      return .offered(offer, nil, mustStart: mustStart)
    }
    let offer = SubmissionOffer.Offer(
      host: reservation.host, incarnation: reservation.incarnation, gpus: reservation.places[0],
      spanID: .randomSpanID())
    return .offered(
      SubmissionOffer(
        submission: submission, definition: stored.id, host: offer, history: dispatcher.history(of: requirementClass)),
      reservation, mustStart: mustStart)
  }

  /// Every obstacle of the fleet and its hosts, with times on the wall clock.
  func obstacles(
    for definition: Definition, _ identifier: JobIdentifier, _ priority: Priority, at now: Moment
  ) -> [HostObstacle] {
    let (fleet, hosts) = dispatcher.obstacles(for: definition, identifier, priority)
    // The hosts that are nearest to taking it come first; those of one kind stay in the order of their names.
    let sorted = Nearness.allCases.flatMap { nearness in hosts.filter { Nearness($0.1) == nearness } }
    let all =
      fleet.map { HostObstacle(host: nil, obstacle: $0) }
      + sorted.flatMap { host, obstacles in obstacles.map { HostObstacle(host: host, obstacle: $0) } }
    return all.map { HostObstacle(host: $0.host, obstacle: $0.obstacle.shifted(by: now.date - now.steady)) }
  }

  mutating func note(_ answer: SubmissionAnswer, of plan: SubmissionPlan) -> [Dispatcher.Effect] {
    var launches: [Assignment] = []
    if case .accepted(let receipt, let requirementClass, let launch, _) = answer {
      launches = launch.map { [$0] } ?? []
      if receipt.state == .ready { dispatcher.noteReady(requirementClass) }
      nextDue.join(receipt.due)
    }
    let use = noteUse(answer, plan)
    guard let reservation = plan.reservation else { return use }
    return use + dispatcher.settle(reservation, with: launches, hasMore: true)
  }

  /// A person submitted it; a poke is a program's word.
  private mutating func noteUse(_ answer: SubmissionAnswer, _ plan: SubmissionPlan) -> [Dispatcher.Effect] {
    guard case .accepted(_, let requirementClass, _, _) = answer, plan.offer?.submission.poke == nil,
      let pattern = dispatcher.definitions[requirementClass.definition]?.pattern
    else { return [] }
    return dispatcher.used(pattern)
  }
}

extension SubmissionOffer {
  /// The answer if the store did not come to it in time: what is known to keep it from starting, and the store.
  fileprivate var tooLate: SubmissionAnswer {
    let busy = HostObstacle(host: nil, obstacle: .storeBusy)
    guard let refusal else { return .refused(.immediateRunIneligible([busy])) }
    guard case .immediateRunIneligible(let known) = refusal else { return .refused(refusal) }
    return .refused(.immediateRunIneligible(known + [busy]))
  }
}
