import BatonModel
import ContractRows
import Testing

/// The launches of one request, in order, and what becomes of the request after each launch.
struct Life: Sendable, CustomTestStringConvertible {
  struct Launch: Sendable {
    var outcome: LaunchOutcome
    var batches = 0
    var reachedEnd = false
    var countsAsLoss = true
    var verdict: Ledger.Verdict
  }

  var name: String
  var cancelledBy: String?
  var retry = RetryRule(limit: 2, backoff: .seconds(30))
  var launches: [Launch]
  var ledger: Ledger

  var testDescription: String { name }
}

extension Ledger.Verdict {
  static let resumes = Ledger.Verdict.resumes(after: .zero)
}

@Suite struct LedgerTests {
  @Test(arguments: [
    Life(
      name: "finished is success, also without a batch", launches: [.init(outcome: .finished, verdict: .succeeded)],
      ledger: Ledger()),
    Life(
      name: "a request at its end succeeds, whatever the launch says",
      launches: [.init(outcome: .failed("signal 15"), reachedEnd: true, verdict: .succeeded)], ledger: Ledger()),
    Life(
      name: "a request at its end succeeds although it was cancelled", cancelledBy: "ann",
      launches: [.init(outcome: .expired(.cancelled(by: "ann")), reachedEnd: true, verdict: .succeeded)],
      ledger: Ledger(cancelledBy: "ann")),
    Life(
      name: "a request at its end succeeds although its host was lost",
      launches: [.init(outcome: .lost, batches: 1, reachedEnd: true, verdict: .succeeded)], ledger: Ledger()),
    Life(
      name: "a handler that returned although it was cancelled has succeeded", cancelledBy: "ann",
      launches: [.init(outcome: .finished, verdict: .succeeded)], ledger: Ledger(cancelledBy: "ann")),
  ])
  func `success is what the store or the handler says`(life: Life) { check(life) }

  @Test(
    .contract(30.2),
    arguments: [
      Life(
        name: "backoff doubles, and the limit counts retries",
        launches: [
          .init(outcome: .failed("a"), verdict: .resumes(after: .seconds(30))),
          .init(outcome: .failed("b"), verdict: .resumes(after: .seconds(60))),
          .init(outcome: .failed("c"), verdict: .failed("c")),
        ], ledger: Ledger(failures: 3, barrenFailures: 3)),
      Life(
        name: "without retries the first failure is the last", retry: RetryRule(limit: 0),
        launches: [.init(outcome: .failed("a"), verdict: .failed("a"))], ledger: Ledger(failures: 1, barrenFailures: 1)),
      Life(
        name: "a committed batch gives no retry back",
        launches: [
          .init(outcome: .failed("a"), batches: 4, verdict: .resumes(after: .seconds(30))),
          .init(outcome: .failed("b"), batches: 4, verdict: .resumes(after: .seconds(60))),
          .init(outcome: .failed("c"), batches: 4, verdict: .failed("c")),
        ], ledger: Ledger(failures: 3, barrenFailures: 1)),
      Life(
        name: "expiry and loss use no retry up",
        launches: [
          .init(outcome: .failed("a"), verdict: .resumes(after: .seconds(30))),
          .init(outcome: .expired(.draining), verdict: .resumes), .init(outcome: .lost, verdict: .resumes),
          .init(outcome: .expired(.budgetSpent), batches: 1, verdict: .resumes),
          .init(outcome: .failed("b"), verdict: .resumes(after: .seconds(60))),
        ], ledger: Ledger(failures: 2, barrenFailures: 1)),
      Life(
        name: "failures never quarantine", retry: RetryRule(limit: 9, backoff: .zero),
        launches: Array(repeating: .init(outcome: .failed("a"), verdict: .resumes), count: 9),
        ledger: Ledger(failures: 9, barrenFailures: 9)),
    ])
  func `failures use retries up, and nothing else does`(life: Life) { check(life) }

  @Test(
    .contract(29.3),
    arguments: [
      Life(
        name: "the first resumes at once, later ones after 1, 2, 4 … seconds",
        launches: [
          .init(outcome: .lost, batches: 1, verdict: .resumes),
          .init(outcome: .lost, verdict: .resumes(after: .seconds(1))),
          .init(outcome: .lost, verdict: .resumes(after: .seconds(2))),
        ], ledger: Ledger(losses: 3, strikes: 2)),
      Life(
        name: "a committed batch starts the row anew",
        launches: [
          .init(outcome: .lost, verdict: .resumes), .init(outcome: .lost, verdict: .resumes(after: .seconds(1))),
          .init(outcome: .lost, batches: 1, verdict: .resumes),
          .init(outcome: .lost, verdict: .resumes(after: .seconds(1))),
        ], ledger: Ledger(losses: 2, strikes: 1)),
      Life(
        name: "an expiry without a batch neither counts nor breaks the row",
        launches: [
          .init(outcome: .lost, verdict: .resumes), .init(outcome: .expired(.paused), verdict: .resumes),
          .init(outcome: .lost, verdict: .resumes(after: .seconds(1))),
        ], ledger: Ledger(losses: 2, strikes: 2)),
      Life(
        name: "a blameless loss resumes at once, always",
        launches: Array(repeating: .init(outcome: .lost, countsAsLoss: false, verdict: .resumes), count: 5),
        ledger: Ledger()),
    ])
  func `losses in a row back off`(life: Life) { check(life) }

  @Test(arguments: [0, 1, 2, 3, 10, 16, 17, 400])
  func `losses back off by doubling, for a day at most`(earlier: Int) {
    var ledger = Ledger(losses: earlier)
    let verdict = ledger.end(
      .lost, committedBatches: 0, reachedEnd: false, retry: RetryRule())
    let seconds = earlier == 0 ? 0 : min(86_400, 1 << min(earlier - 1, 20))
    #expect(verdict == .resumes(after: .seconds(seconds)))
  }

  static let cause = "quarantined: 3 launches in a row committed no batch; the last one ended "
  static func raise(_ key: String) -> String {
    "; raise '\(key)' of the definition, or commit smaller batches or a cursor"
  }

  @Test(
    .contract(29.4),
    arguments: [
      Life(
        name: "lost, stalled and over budget count alike",
        launches: [
          .init(outcome: .lost, verdict: .resumes), .init(outcome: .expired(.stalled), verdict: .resumes),
          .init(outcome: .expired(.budgetSpent), verdict: .failed(cause + "budgetSpent" + raise("budget"))),
        ], ledger: Ledger(losses: 1, strikes: 3)),
      Life(
        name: "three lost ones",
        launches: [
          .init(outcome: .lost, verdict: .resumes), .init(outcome: .lost, verdict: .resumes(after: .seconds(1))),
          .init(outcome: .lost, verdict: .failed(cause + "lost")),
        ], ledger: Ledger(losses: 3, strikes: 3)),
      Life(
        name: "a committed batch starts the count anew",
        launches: [
          .init(outcome: .expired(.stalled), verdict: .resumes), .init(outcome: .expired(.stalled), verdict: .resumes),
          .init(outcome: .expired(.stalled), batches: 1, verdict: .resumes),
          .init(outcome: .expired(.stalled), verdict: .resumes), .init(outcome: .expired(.stalled), verdict: .resumes),
          .init(outcome: .expired(.stalled), verdict: .failed(cause + "stalled" + raise("stallAfter"))),
        ], ledger: Ledger(strikes: 3)),
      Life(
        name: "a budget spent with progress never counts",
        launches: Array(repeating: .init(outcome: .expired(.budgetSpent), batches: 1, verdict: .resumes), count: 5),
        ledger: Ledger()),
      Life(
        name: "cancelling wins over quarantine", cancelledBy: "ann",
        launches: [
          .init(outcome: .lost, verdict: .cancelled(by: "ann"))
        ], ledger: Ledger(losses: 1, cancelledBy: "ann")),
    ])
  func `after three strikes a request is quarantined with its history`(life: Life) { check(life) }

  @Test(
    .contract(29.5),
    arguments: ExpiryReason.plain.filter { $0 != .budgetSpent && $0 != .stalled }
      + [.simulated(as: nil), .simulated(as: .stalled)])
  func `what the host or an operator did never counts as a strike`(reason: ExpiryReason) {
    var ledger = Ledger(losses: 2, strikes: 2)
    let verdict = ledger.end(.expired(reason), committedBatches: 0, reachedEnd: false, retry: RetryRule())
    #expect(verdict == .resumes(after: .zero))
    #expect(ledger == Ledger(losses: 2, strikes: 2))
    #expect(!reason.isStrike)
  }

  @Test(arguments: [
    LaunchOutcome.failed("a"), .expired(.draining), .expired(.budgetSpent), .expired(.cancelled(by: "bob")), .lost,
  ])
  func `whatever ends the launch of a cancelled request, the request is cancelled`(outcome: LaunchOutcome) {
    for countsAsLoss in [true, false] {
      var ledger = Ledger(strikes: 2, cancelledBy: "ann")
      let verdict = ledger.end(
        outcome, committedBatches: 0, reachedEnd: false, retry: RetryRule(), countsAsLoss: countsAsLoss)
      #expect(verdict == .cancelled(by: outcome == .expired(.cancelled(by: "bob")) ? "bob" : "ann"))
    }
  }

  @Test func `a launch that expired as cancelled cancels its request`() {
    var ledger = Ledger()
    let verdict = ledger.end(
      .expired(.cancelled(by: "ann")), committedBatches: 0, reachedEnd: false, retry: RetryRule())
    #expect(verdict == .cancelled(by: "ann"))
    #expect(ledger == Ledger())
  }

  @Test(arguments: [
    (Duration.seconds(30), 0, Duration.seconds(30)), (.seconds(30), 1, .seconds(60)), (.seconds(30), 3, .seconds(240)),
    (.seconds(30), 60, .seconds(86_400)), (.seconds(30), -1, .seconds(30)), (.zero, 100, .zero),
    (.seconds(100_000), 0, .seconds(100_000)), (.seconds(100_000), 5, .seconds(100_000)),
  ])
  func `a backoff doubles up to a day and is never shortened`(first: Duration, times: Int, result: Duration) {
    #expect(first.doubled(times) == result)
  }

  @Test func `how many strikes are too many, and how long the first pause is, can be set`() {
    let rule = LossRule(quarantineAfter: 2, backoff: .seconds(10))
    var ledger = Ledger()
    func lose() -> Ledger.Verdict {
      ledger.end(.lost, committedBatches: 0, reachedEnd: false, retry: RetryRule(), losses: rule)
    }
    #expect(lose() == .resumes(after: .zero))
    #expect(lose() == .failed("quarantined: 2 launches in a row committed no batch; the last one ended lost"))
    ledger = Ledger(losses: 1)
    _ = ledger.end(.lost, committedBatches: 1, reachedEnd: false, retry: RetryRule(), losses: rule)
    ledger = Ledger(losses: 2)
    #expect(lose() == .resumes(after: .seconds(20)))
  }

  private func check(_ life: Life) {
    var ledger = Ledger(cancelledBy: life.cancelledBy)
    for (index, launch) in life.launches.enumerated() {
      let verdict = ledger.end(
        launch.outcome, committedBatches: launch.batches, reachedEnd: launch.reachedEnd, retry: life.retry,
        countsAsLoss: launch.countsAsLoss)
      #expect(verdict == launch.verdict, "launch \(index + 1)")
    }
    #expect(ledger == life.ledger)
  }
}
