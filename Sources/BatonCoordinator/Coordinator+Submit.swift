import BatonBase
package import BatonModel
package import BatonStore
import BatonTelemetry
import BatonWire
import Synchronization

extension Coordinator {
  /// Accepts submissions. A submission for which a host is free starts at once: it is stored and claimed in one
  /// transaction.
  /// - Returns: the answers, in the order of the submissions. A refused submission does not affect the others.
  package func submit(_ submissions: [Submission]) async throws -> [SubmissionAnswer] {
    let answers = try await answers(to: submissions)
    count(answers)
    return answers
  }

  /// Accepts all members of a flow, or none. No member starts in the transaction that stores it.
  package func submitFlow(_ members: [Submission]) async throws -> [SubmissionAnswer] {
    guard state.withLock({ $0.isAccepting }) else {
      return members.map { _ in .refused(.unavailable("it is shutting down; submit again in a moment")) }
    }
    let plans = try await plans(for: members, asFlow: true, at: now().moment)
    if plans.contains(where: { $0.offer == nil }) {
      return zip(plans, members).map { plan, member in
        if case .refused(let refusal) = plan { return .refused(refusal) }
        return .refused(.unavailable("nothing of the flow was submitted, because another job of it was refused"))
      }
    }
    let answers = try await take(plans, asFlow: true)
    count(answers)
    return answers
  }

  private func answers(to submissions: [Submission]) async throws -> [SubmissionAnswer] {
    guard state.withLock({ $0.isAccepting }) else {
      return submissions.map { _ in .refused(.unavailable("it is shutting down; submit again in a moment")) }
    }
    let now = now().moment
    let plans = try await plans(for: submissions, at: now)
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

  /// Decides about the submissions. If a definition is not known here, the definitions are read again first: another
  /// coordinator may have applied it a moment ago.
  private func plans(
    for submissions: [Submission], asFlow: Bool = false, at now: Moment
  ) async throws -> [SubmissionPlan] {
    let identifiers = submissions.map(\.identifier)
    if store.isShared, state.withLock({ state in identifiers.contains { state.core.index.definition(for: $0) == nil } })
    {
      try await carryOut(.readDefinitions)
    }
    return decide {
      $0.core.plan(submissions, permitted: settings.permittedIdentifiers, asFlow: asFlow, at: now, SpanID.random)
    }
  }

  /// How long a submission that must start at once waits for the store (contract, row 35).
  static let immediateAnswer = Duration.seconds(1)

  /// Stores the submissions with the strategy `fail`, which are answered within `immediateAnswer`. Submissions that
  /// the store has not started to take by then are withdrawn and refused, and leave nothing behind. A commit that has
  /// started is awaited, because it decides.
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

  /// Stores the offers of the plans and tells the core the answers.
  /// - Returns: the answers to the offers, in their order.
  private func take(_ plans: [SubmissionPlan], asFlow: Bool = false) async throws -> [SubmissionAnswer] {
    let offers = plans.compactMap(\.offer)
    do {
      let answers =
        offers.isEmpty
        ? [] : try await asFlow ? store.submitFlow(offers, at: now().moment) : store.submit(offers, at: now().moment)
      decide { $0.core.submitted(plans, answers) }
      // The tasks that the decision has woken run first: a worker is told to start before the submitter is answered.
      await Task.yield()
      noteSpans(answers.count)
      return answers
    } catch {
      decide { $0.core.notSubmitted(plans) }
      throw error
    }
  }
}

extension SubmissionOffer {
  /// The answer if the store did not take the offer in time: the obstacles that are known, and that the store is busy.
  fileprivate var tooLate: SubmissionAnswer {
    let busy = HostObstacle(host: nil, obstacle: .storeBusy)
    guard let refusal else { return .refused(.immediateRunIneligible([busy])) }
    guard case .immediateRunIneligible(let known) = refusal else { return .refused(refusal) }
    return .refused(.immediateRunIneligible(known + [busy]))
  }
}
