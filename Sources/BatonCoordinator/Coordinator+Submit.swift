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
    let offers = plans.compactMap(\.offer)
    var answers = try await take(offers, plans)[...]
    return plans.map { plan in
      switch plan {
      case .refused(let refusal): .refused(refusal)
      case .offered: answers.removeFirst()
      }
    }
  }

  /// So many submissions of one call are started in the transaction that stores them.
  private static let startedAtOnce = 8

  private func take(_ offers: [SubmissionOffer], _ plans: [SubmissionPlan]) async throws -> [SubmissionAnswer] {
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
  case offered(SubmissionOffer, Dispatcher.Reservation?)

  var offer: SubmissionOffer? { if case .offered(let offer, _) = self { offer } else { nil } }
  var reservation: Dispatcher.Reservation? { if case .offered(_, let reservation) = self { reservation } else { nil } }
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
    // Not at once: an id that is known gets the answer it got then.
    if dispatcher.isPaused {
      let refusal = Refusal.unavailable("the fleet is paused: 'baton resume' ends that")
      return .offered(SubmissionOffer(submission: submission, definition: stored.id, refusal: refusal), nil)
    }
    let requirementClass = RequirementClass(
      definition: stored.id, priority: submission.priority ?? stored.definition.priority)
    // Whoever waits already goes first, unless this one would rather fail than wait.
    let mayOvertake = stored.definition.strategy == .fail
    guard mayOvertake || startsAtOnce && dispatcher.mayStartAtOnce(requirementClass),
      let reservation = dispatcher.reserve(requirementClass, submission.identifier, count: 1).first
    else {
      let refusal =
        mayOvertake
        ? Refusal.immediateRunIneligible(
          obstacles(for: stored.definition, submission.identifier, requirementClass.priority, at: now)) : nil
      return .offered(SubmissionOffer(submission: submission, definition: stored.id, refusal: refusal), nil)
    }
    let offer = SubmissionOffer.Offer(
      host: reservation.host, incarnation: reservation.incarnation, gpus: reservation.places[0],
      spanID: .randomSpanID())
    return .offered(
      SubmissionOffer(
        submission: submission, definition: stored.id, host: offer, history: dispatcher.history(of: requirementClass)),
      reservation)
  }

  /// Every obstacle of the fleet and its hosts, with times on the wall clock.
  func obstacles(
    for definition: Definition, _ identifier: JobIdentifier, _ priority: Priority, at now: Moment
  ) -> [HostObstacle] {
    let (fleet, hosts) = dispatcher.obstacles(for: definition, identifier, priority)
    let all =
      fleet.map { HostObstacle(host: nil, obstacle: $0) }
      + hosts.flatMap { host, obstacles in obstacles.map { HostObstacle(host: host, obstacle: $0) } }
    return all.map { HostObstacle(host: $0.host, obstacle: $0.obstacle.shifted(by: now.date - now.steady)) }
  }

  mutating func note(_ answer: SubmissionAnswer, of plan: SubmissionPlan) -> [Dispatcher.Effect] {
    var launches: [Assignment] = []
    if case .accepted(let receipt, let requirementClass, let launch, _) = answer {
      launches = launch.map { [$0] } ?? []
      if receipt.state == .ready { dispatcher.noteReady(requirementClass) }
      nextDue.join(receipt.due)
    }
    guard let reservation = plan.reservation else { return [] }
    return dispatcher.settle(reservation, with: launches, hasMore: true)
  }
}
