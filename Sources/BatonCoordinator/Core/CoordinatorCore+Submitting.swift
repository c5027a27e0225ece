package import BatonModel
package import BatonStore

/// What the dispatcher decides about a submission before the store gets it.
package enum SubmissionPlan: Sendable {
  case refused(Refusal)
  /// - Parameter mustStart: the submission is refused if it cannot start at once.
  case offered(SubmissionOffer, Dispatcher.Reservation?, mustStart: Bool)

  /// Whether no definition is known for the identifier here. Another coordinator may have applied one a moment ago.
  package var isUnknown: Bool { if case .refused(.notPermitted) = self { true } else { false } }
  package var mustStart: Bool { if case .offered(_, _, let mustStart) = self { mustStart } else { false } }
  package var offer: SubmissionOffer? { if case .offered(let offer, _, _) = self { offer } else { nil } }
  var reservation: Dispatcher.Reservation? {
    if case .offered(_, let reservation, _) = self { reservation } else { nil }
  }
}

extension CoordinatorCore {
  /// If one call has at most this many submissions, those for which a host is free start in the transaction that
  /// stores them. If a call has more, its launches are claimed together right afterwards, because looking for a place
  /// for each one would take long in a large fleet.
  private static let startedAtOnce = 8

  /// How many submissions of a call may have to start at once (`strategy: fail`): all hosts are looked at for each.
  private static let mostThatMustStart = 64
  /// How many obstacles a refused submission names, those of the nearest hosts first.
  private static let namedObstacles = 200

  /// Decides for each submission whether it is refused, or which offer the store gets. Reserved places stay held until
  /// the caller tells the outcome with `submitted` or `notSubmitted`.
  /// - Parameters:
  ///   - permitted: the identifiers that may be defined here; empty means all of them. A definition that was applied
  ///     before the configuration forbade it cannot be used.
  ///   - asFlow: whether the submissions are the members of a flow, none of which starts at once.
  ///   - drawSpanID: returns a new span id for each launch that may start.
  package mutating func plan(
    _ submissions: [Submission], permitted: [IdentifierPattern] = [], asFlow: Bool = false, at now: Moment,
    _ drawSpanID: () -> SpanID
  ) -> [SubmissionPlan] {
    var left = Self.mostThatMustStart
    return submissions.map { submission in
      guard let stored = index.definition(for: submission.identifier),
        permitted.isEmpty || permitted.contains(where: { $0.covers(stored.definition.pattern) })
      else {
        let nearest = index.nearest(to: submission.identifier.rawValue)
        return .refused(.notPermitted(submission.identifier, nearest: nearest))
      }
      do throws(DefinitionProblem) {
        if let problem = stored.problem { throw problem }
        try stored.definition.validate(submission.identifier)
      } catch {
        return .refused(.unusable(submission.identifier, error))
      }
      if asFlow { return member(submission, stored) }
      if stored.definition.strategy == .fail {
        left -= 1
        if left < 0 { return oneTooMany(submission, stored) }
      }
      return plan(submission, stored, isFew: submissions.count <= Self.startedAtOnce, at: now, drawSpanID)
    }
  }

  /// The refusal is part of the offer, because the store answers a submission id that it knows with its earlier answer.
  private mutating func oneTooMany(_ submission: Submission, _ stored: StoredDefinition) -> SubmissionPlan {
    dispatcher.learn(stored.id, stored.definition)
    var offer = SubmissionOffer(submission: submission, definition: stored.id)
    offer.refusal = .unavailable(
      "a call has at most \(Self.mostThatMustStart) submissions of jobs with 'strategy: fail'; submit the others with "
        + "another call")
    return .offered(offer, nil, mustStart: true)
  }

  private mutating func member(_ submission: Submission, _ stored: StoredDefinition) -> SubmissionPlan {
    dispatcher.learn(stored.id, stored.definition)
    var offer = SubmissionOffer(submission: submission, definition: stored.id)
    if dispatcher.isPaused { offer.refusal = .unavailable("the fleet is paused: 'baton resume' ends that") }
    return .offered(offer, nil, mustStart: false)
  }

  private mutating func plan(
    _ submission: Submission, _ stored: StoredDefinition, isFew: Bool, at now: Moment, _ drawSpanID: () -> SpanID
  ) -> SubmissionPlan {
    dispatcher.learn(stored.id, stored.definition)
    // A submission that fails rather than waits may overtake the requests that wait already.
    let mustStart = stored.definition.strategy == .fail
    var offer = SubmissionOffer(submission: submission, definition: stored.id)
    // The refusal is only part of the offer, because the store answers a submission id that it knows with its earlier
    // answer.
    if dispatcher.isPaused {
      offer.refusal = .unavailable("the fleet is paused: 'baton resume' ends that")
      return .offered(offer, nil, mustStart: mustStart)
    }
    let requirementClass = RequirementClass(
      definition: stored.id, priority: submission.priority ?? stored.definition.priority)
    guard mustStart || isFew && dispatcher.mayStartAtOnce(requirementClass),
      let reservation = dispatcher.reserve(
        requirementClass, submission.identifier, by: submission.principal, count: 1
      ).first
    else {
      if mustStart {
        offer.refusal = .immediateRunIneligible(
          obstacles(for: stored.definition, submission, requirementClass, at: now))
      }
      return .offered(offer, nil, mustStart: mustStart)
    }
    offer.host = SubmissionOffer.Offer(reservation, spanID: drawSpanID())
    offer.history = dispatcher.history(of: requirementClass)
    return .offered(offer, reservation, mustStart: mustStart)
  }

  /// Every obstacle of the fleet and of its hosts, with times on the wall clock.
  private func obstacles(
    for definition: Definition, _ submission: Submission, _ requirementClass: RequirementClass, at now: Moment
  ) -> [HostObstacle] {
    let (fleet, hosts) = dispatcher.obstacles(
      for: definition, submission.identifier, by: submission.principal, of: requirementClass)
    // The hosts that are nearest to taking the request come first; hosts of equal nearness stay in the order of their
    // names.
    let sorted = Nearness.allCases.flatMap { nearness in hosts.filter { Nearness($0.1) == nearness } }
    let all =
      fleet.map { HostObstacle(host: nil, obstacle: $0) }
      + sorted.flatMap { host, obstacles in obstacles.map { HostObstacle(host: host, obstacle: $0) } }
    return all.prefix(Self.namedObstacles).map {
      HostObstacle(host: $0.host, obstacle: $0.obstacle.shifted(by: now.date - now.steady))
    }
  }

  /// Takes over the store's answers to the offers of these plans. The answers are in the order of the offers.
  package mutating func submitted(_ plans: [SubmissionPlan], _ answers: [SubmissionAnswer]) {
    for (plan, answer) in zip(plans.filter { $0.offer != nil }, answers) {
      var launches: [Assignment] = []
      if case .accepted(let receipt, let requirementClass, let launch, _) = answer {
        launches = launch.map { [$0] } ?? []
        if receipt.state == .ready || launch?.madeShards == true { dispatcher.noteReady(requirementClass) }
        nextDue.join(receipt.due)
        // Only a person's submission counts as use of the definition; a poke comes from a program.
        if plan.offer?.submission.poke == nil { noteUse(of: requirementClass) }
        if launches.isEmpty { tell(.changed(receipt.request)) }
      }
      if let reservation = plan.reservation {
        perform(dispatcher.settle(reservation, with: launches, hasMore: true))
      }
      started(launches)
    }
    wantDispatch()
  }

  /// The store did not answer the offers. The places that were reserved for them become free.
  package mutating func notSubmitted(_ plans: [SubmissionPlan]) {
    for reservation in plans.compactMap(\.reservation) {
      perform(dispatcher.settle(reservation, with: [], hasMore: true))
    }
  }

  private mutating func noteUse(of requirementClass: RequirementClass) {
    guard let pattern = dispatcher.definitions[requirementClass.definition]?.pattern else { return }
    decide { $0.used(pattern) }
  }
}

extension SubmissionOffer.Offer {
  init(_ reservation: Dispatcher.Reservation, spanID: SpanID) {
    self.init(lease: reservation.lease, gpus: reservation.places[0], spanID: spanID)
  }
}
