import BatonModel
import ContractRows
import Testing

/// The values behind daily allowances, stall watching, and the choice of the launch that gives way.
@Suite struct BudgetTests {
  static let day = Int64(86_400)
  static func at(_ seconds: Int64) -> Timestamp { Timestamp(nanoseconds: seconds * 1_000_000_000) }

  @Test func `launch time is counted on the day on which it was used, and each day begins with none`() {
    var use = DailyUse()
    use.charge(.seconds(100), at: Self.at(10 * Self.day + 500))
    use.charge(.seconds(20), at: Self.at(10 * Self.day + 600))
    #expect(use.used(at: Self.at(11 * Self.day - 1)) == .seconds(120))
    #expect(use.used(at: Self.at(11 * Self.day)) == .zero)
    use.charge(.seconds(1000), at: Self.at(11 * Self.day + 30))
    #expect(use.used(at: Self.at(11 * Self.day + 30)) == .seconds(30), "the rest was the day before")
    use.charge(.seconds(-5), at: Self.at(11 * Self.day + 31))
    #expect(use.used(at: Self.at(11 * Self.day + 31)) == .seconds(30))
  }

  @Test(
    arguments: [(0, day), (1, day), (day - 1, day), (day, 2 * day), (-1, 0), (-day, 0)] as [(Int64, Int64)])
  func `an allowance refills when a day begins`(now: Int64, refill: Int64) {
    #expect(DailyUse.refill(after: Self.at(now)) == Self.at(refill))
  }

  @Test func `an allowance at the end of time refills never`() {
    #expect(DailyUse.refill(after: .distantFuture) == .distantFuture)
  }

  @Test(.contract(17.3), arguments: JobKind.allCases)
  func `a daily allowance is off unless somebody sets it`(kind: JobKind) {
    #expect(Definition(pattern: IdentifierPattern("com.example.a")!, kind: kind).dailyAllowance == nil)
    #expect(Capabilities(slots: 1).dailyAllowance == nil)
  }

  @Test func `continued jobs are watched for 60 s, others only if they ask for it`() {
    #expect(Stall.suspicion(of: Fixture.job(.continued), usualBatch: nil, keepsCursor: true) == .seconds(60))
    #expect(Stall.suspicion(of: Fixture.job(.continued), usualBatch: .seconds(10), keepsCursor: true) == .seconds(60))
    #expect(Stall.suspicion(of: Fixture.job(.continued), usualBatch: .seconds(13), keepsCursor: true) == .seconds(65))
    #expect(Stall.suspicion(of: Fixture.job(.processing), usualBatch: .seconds(13), keepsCursor: true) == nil)
    let watched = Fixture.job(.refresh) { $0.stallAfter = .seconds(2) }
    #expect(Stall.suspicion(of: watched, usualBatch: nil, keepsCursor: true) == .seconds(2))
  }

  @Test(arguments: JobKind.allCases)
  func `a command in one piece has no budget and no stall watch until it keeps a cursor`(kind: JobKind) {
    let job = Fixture.job(kind) { definition in
      definition.budget = nil
      definition.work = Work(command: ["pg_dump"])
    }
    #expect(job.isInOnePiece)
    #expect(job.budget(keepsCursor: false) == nil)
    #expect(Stall.suspicion(of: job, usualBatch: .seconds(99), keepsCursor: false) == nil)
    #expect(job.budget(keepsCursor: true) == kind.defaultBudget)
    #expect(
      Stall.suspicion(of: job, usualBatch: nil, keepsCursor: true) == (kind == .continued ? .seconds(60) : nil))
  }

  @Test(arguments: JobKind.allCases)
  func `what the definition says counts for a command in one piece too`(kind: JobKind) {
    let job = Fixture.job(kind) { definition in
      definition.work = Work(command: ["pg_dump"])
      (definition.budget, definition.stallAfter) = (.seconds(7), .seconds(3))
    }
    #expect(job.budget(keepsCursor: false) == .seconds(7))
    #expect(Stall.suspicion(of: job, usualBatch: nil, keepsCursor: false) == .seconds(3))
  }

  @Test func `items and Swift handlers have the limits of their kind`() {
    let items = Fixture.job(.processing) { $0.work = Work(command: ["x"], items: .range(1...2)) }
    #expect(items.budget(keepsCursor: false) == .seconds(600))
    let handler = Fixture.job(.continued) { $0.work = nil }
    #expect(handler.budget(keepsCursor: false) == nil)
    #expect(Stall.suspicion(of: handler, usualBatch: nil, keepsCursor: false) == .seconds(60))
  }

  @Test func `the pace is the 95th percentile of the last batches, once there are twenty`() {
    var pace = Pace()
    for second in 1...19 { pace.add(.seconds(second)) }
    #expect(pace.usualBatch == nil)
    pace.add(.seconds(20))
    #expect(pace.usualBatch == .seconds(19))
    for _ in 0..<200 { pace.add(.seconds(3)) }
    #expect(pace.usualBatch == .seconds(3), "what is long ago is forgotten")
    #expect(Pace(inherited: .seconds(9)).usualBatch == .seconds(9))
  }

  @Test(.contract(32.3)) func `the victim loses least work, then is the least progressed`() {
    func launch(_ id: Int64, _ atRisk: Int, _ progress: Double) -> Pressure.Candidate {
      Pressure.Candidate(
        launch: LaunchKey(request: RequestID(id), number: 1), atRisk: .seconds(atRisk), progress: progress)
    }
    #expect(Pressure.victim(among: []) == nil)
    #expect(Pressure.victim(among: [launch(1, 9, 0), launch(2, 3, 0.9), launch(3, 4, 0)])?.request == RequestID(2))
    #expect(Pressure.victim(among: [launch(1, 3, 0.5), launch(2, 3, 0.4)])?.request == RequestID(2))
    #expect(Pressure.victim(among: [launch(2, 3, 0.5), launch(1, 3, 0.5)])?.request == RequestID(1))
  }
}
