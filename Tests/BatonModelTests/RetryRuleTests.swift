import BatonModel
import Testing

@Suite struct RetryRuleTests {
  @Test func `waits double up to the longest one`() {
    var rule = RetryRule(limit: 9, backoff: .seconds(10))
    rule.maxBackoff = .seconds(60)
    #expect((1...6).map { rule.wait(after: $0, of: RequestID(1)).inSeconds } == [10, 20, 40, 60, 60, 60])
    rule.maxBackoff = nil
    #expect(rule.wait(after: 40, of: RequestID(1)) == .seconds(86_400))
    rule.backoff = .seconds(2 * 86_400)
    #expect(rule.wait(after: 40, of: RequestID(1)) == .seconds(2 * 86_400))
  }

  @Test func `jitter makes each wait longer by a time of its own, the same each time, and spreads requests`() {
    var rule = RetryRule(limit: 9, backoff: .seconds(10))
    rule.maxBackoff = .seconds(20)
    rule.jitter = .seconds(5)
    var seen: Set<Duration> = []
    for request in 1...200 {
      for failures in 1...3 {
        let wait = rule.wait(after: failures, of: RequestID(Int64(request)))
        #expect(wait == rule.wait(after: failures, of: RequestID(Int64(request))))
        let least = Duration.seconds(failures == 1 ? 10 : 20)
        #expect((least...(least + .seconds(5))).contains(wait))
        seen.insert(wait - least)
      }
    }
    #expect(seen.count == 600)
    #expect(seen.contains { $0 < .milliseconds(250) } && seen.contains { $0 > .milliseconds(4_750) })
  }

  @Test func `only the failures that the rule covers are tried again`() {
    var rule = RetryRule()
    #expect(rule.covers(.exit(1)) && rule.covers(.other))
    rule.on = [.exit(75), .signal("SIGKILL"), .timedOut]
    #expect(rule.covers(.exit(75)) && rule.covers(.signal("SIGKILL")) && rule.covers(.timedOut))
    #expect(!rule.covers(.exit(1)) && !rule.covers(.signal("SIGSEGV")) && !rule.covers(.other))
    rule.on = nil
    rule.notOn = [.exit(64)]
    #expect(rule.covers(.exit(75)) && !rule.covers(.exit(64)))
  }

  private func fails(
    _ ledger: inout Ledger, _ rule: RetryRule, _ kind: FailureKind = .exit(1), batches: Int = 0, maySkip: Bool = true
  ) -> Ledger.Verdict {
    ledger.end(
      .failed("no"), committedBatches: batches, reachedEnd: false, retry: rule, failure: kind, of: RequestID(1),
      maySkip: maySkip)
  }

  @Test func `a failure that is not covered ends the request at once, and says why`() {
    var rule = RetryRule()
    rule.notOn = [.exit(64)]
    rule.skipBatchAfter = 1
    var ledger = Ledger()
    #expect(
      fails(&ledger, rule, .exit(64)) == .failed("not tried again after 'exit 64', as 'retry' says: no"))
  }

  @Test func `a batch that fails again and again is skipped, and the next one has all retries`() {
    var rule = RetryRule(limit: 2, backoff: .seconds(10))
    rule.skipBatchAfter = 2
    var ledger = Ledger()
    #expect(fails(&ledger, rule) == .resumes(after: .seconds(10)))
    #expect(fails(&ledger, rule) == .skipsBatch(after: .seconds(10)))
    #expect(ledger == Ledger())
    #expect(fails(&ledger, rule) == .resumes(after: .seconds(10)))
    #expect(fails(&ledger, rule, batches: 1) == .resumes(after: .seconds(20)), "another batch, and no retry back")
    #expect(ledger == Ledger(failures: 2, barrenFailures: 1))
    let lost = ledger.end(.lost, committedBatches: 0, reachedEnd: false, retry: rule)
    #expect(lost == .resumes(after: .zero), "a loss neither counts nor breaks the row")
    #expect(fails(&ledger, rule) == .skipsBatch(after: .seconds(10)), "also where the retries are used up")
  }

  @Test func `where no batch may be skipped the retries decide`() {
    var rule = RetryRule(limit: 1, backoff: .zero)
    rule.skipBatchAfter = 1
    var ledger = Ledger()
    #expect(fails(&ledger, rule, maySkip: false) == .resumes(after: .zero))
    #expect(fails(&ledger, rule, maySkip: false) == .failed("no"))
  }

  @Test func `a cancelled request skips nothing`() {
    var rule = RetryRule()
    rule.skipBatchAfter = 1
    var ledger = Ledger(cancelledBy: "ann")
    #expect(fails(&ledger, rule) == .cancelled(by: "ann"))
  }

  private static func job(_ change: (inout Definition) -> Void) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(trusted: "com.example.a"), kind: .processing)
    change(&definition)
    return definition
  }

  @Test(
    "a rule that contradicts itself is refused",
    arguments: [
      ("retry.maxBackoff", job { ($0.retry.backoff, $0.retry.maxBackoff) = (.seconds(60), .seconds(59)) }),
      ("retry.notOn", job { ($0.retry.on, $0.retry.notOn) = ([.exit(1)], [.exit(2)]) }),
      ("retry.on", job { $0.retry.on = [] }), ("retry.on", job { $0.retry.on = [FailureKind(rawValue: "")] }),
      ("retry.notOn", job { $0.retry.notOn = [FailureKind(rawValue: "a\nb")] }),
      ("retry.on", job { $0.retry.on = (1...65).map { .exit($0) } }),
      ("retry.skipBatchAfter", job { ($0.retry.limit, $0.retry.skipBatchAfter) = (2, 4) }),
      ("retry.skipBatchAfter", job { $0.retry.skipBatchAfter = 0 }),
      ("retry.skipBatchAfter", job { ($0.retry.skipBatchAfter, $0.work) = (1, Work(command: ["x"])) }),
      ("retry.skipLimit", job { $0.retry.skipLimit = 3 }),
      ("retry.skipLimit", job { ($0.retry.skipBatchAfter, $0.retry.skipLimit) = (1, 1001) }),
    ])
  func isRefused(field: String, definition: Definition) {
    let problem = #expect(throws: DefinitionProblem.self) { try definition.validate() }
    #expect(problem?.field == field)
  }
}
