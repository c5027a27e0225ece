import BatonModel
import BatonStore

/// A client that submits one request, and repeats the submission with the same id until it has an answer.
final class SimulatedClient {
  private let world: World
  private let plan: Schedule.RequestPlan
  private var draw: Draw
  private var attempt = 0
  private(set) var isAnswered = false

  init(_ world: World, _ plan: Schedule.RequestPlan, number: Int) {
    (self.world, self.plan) = (world, plan)
    draw = Draw(seed: world.schedule.seed, stream: 5_000 + UInt64(number))
  }

  func start() { world.after(plan.at, for: .world) { [self] in try submit() } }

  private func submit() throws {
    guard !isAnswered else { return }
    attempt += 1
    world.after(draw.milliseconds(1_000...4_000), for: .world) { [self] in try submit() }
    guard let coordinator = world.anyCoordinator(), !isLost else { return }
    let submission = submission
    for _ in 0..<(plan.isSentTwice ? 2 : 1) {
      world.after(draw.milliseconds(1...200), for: coordinator.owner) { [self] in
        try coordinator.submit(submission, plan) { [self] in try answered($0) }
      }
    }
  }

  /// Whether the next message is lost: 10 % of them are, until the calm.
  private var isLost: Bool { !world.isCalm && draw.chance(10) }

  private var submission: Submission {
    let earliest: EarliestBeginDate? =
      switch plan.earliest {
      case .after(let delay): .afterSubmission(delay)
      case .date(let offset): .at(Journal.epoch + offset)
      case nil: nil
      }
    let number = UInt64(attempt) << 32 | UInt64(plan.at.nanoseconds & 0xFFFF_FFFF)
    let span = SpanID(number | 1 << 62)
    let id = world.breakage == .newIDForEachAttempt ? "\(plan.id)-\(attempt)" : plan.id
    return Submission(
      id: id, identifier: plan.identifier, payload: plan.payload, earliestBeginDate: earliest, priority: plan.priority,
      principal: "client",
      trace: TraceContext(
        traceID: TraceID(high: span.number, low: span.number), spanID: span, isSampled: plan.isSampled), poke: plan.poke
    )
  }

  private func count(_ answer: SubmissionAnswer) {
    switch answer {
    case .accepted(let receipt, _, let launch, let isRepeat):
      let kind = receipt.replaced ? "joined or replaced" : launch == nil ? "accepted" : "started at once"
      world.count(.client, isRepeat ? "repeated" : kind)
    case .refused(let refusal): world.count(.refusal, refusal.code)
    }
  }

  /// Takes an answer of the coordinator, which may get lost on its way.
  private func answered(_ answer: SubmissionAnswer) throws {
    guard !isLost else { return }
    world.after(draw.milliseconds(1...200), for: .world) { [self] in
      count(answer)
      switch answer {
      case .accepted(let receipt, _, _, _):
        isAnswered = true
        try world.journal.acknowledged(plan, receipt)
      case .refused(.immediateRunIneligible), .refused(.tooManyPending): isAnswered = true
      case .refused(.unavailable): break
      case .refused(.notPermitted(let identifier, _)): try world.journal.checkAbsence(of: identifier)
      case .refused(.unusable(let identifier, _)):
        throw world.journal.violation(.crash, "\(identifier) is not usable")
      }
    }
  }
}
