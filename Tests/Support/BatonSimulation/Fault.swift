import BatonModel

/// A fault, or an action of an operator, at a fixed time of a schedule.
package struct Fault: Sendable {
  /// Since the beginning of the simulation.
  var at: Duration
  var kind: Kind

  enum Kind: Sendable {
    case crashCoordinator(CrashPoint, downFor: Duration, reboots: Bool)
    /// The process is stopped and continued, as by SIGSTOP and SIGCONT.
    case pauseCoordinator(Duration)
    case killWorker(Int, word: SupervisorsWord, backAfter: Duration, losesPower: Bool)
    case pauseWorker(Int, Duration)
    /// The worker drains and ends, and its supervisor starts it again.
    case restartWorker(Int)
    /// Messages on their way are lost. Each side notices the loss after a delay of its own.
    case loseConnection(Int, workerNotices: Duration, coordinatorNotices: Duration)
    case partition(Int, Direction, Duration)
    case slowNetwork(Int, Duration)
    case slowStore(Duration)
    /// The store refuses every write and changes nothing.
    case fullDisk(Duration)
    /// So many writes wait that the store refuses all writes that are not urgent.
    case overload(Duration)
    /// Messages of the host arrive twice, in both directions.
    case repeatMessages(Int, Duration)
    /// A step of the coordinator's wall clock, which stays until the calm.
    case stepClock(Duration)
    /// A coordinator cannot reach the store. Only where several coordinators share it.
    case cutOffStore(Duration)
    case loseCondition(Int, Condition, Duration)
    case cancel(JobIdentifier)
    case cancelAll
    case evict(IdentifierPattern, Int, Duration)
    case pauseFleet(Duration)
    case drainHost(Int, Duration)
    case simulateLaunch(JobIdentifier)
    case simulateExpiry(JobIdentifier)
    case simulateConditions(Int, Duration)
    /// Applies a definition again with another title, which the store takes for a new version.
    case applyAgain(Int)
    /// Removes a definition, which is refused while it has unfinished requests, and applies it again later.
    case remove(Int, Duration)
    /// Gives the waiting request the definition that is applied now.
    case redefine(JobIdentifier)
    case retryFailed
    /// Changes how many shards of a request may be in work at once.
    case setSpread(JobIdentifier, Int)
    /// Pauses the schedule of a job that comes by itself.
    case pauseSchedule(JobIdentifier, Duration)
    /// Begins a backfill of the times of the calendar in the minutes before, and may stop it.
    case backfill(JobIdentifier, minutes: Int, stopsAfter: Duration?)
  }

  enum CrashPoint: CaseIterable, Sendable {
    case now, beforeCommit, betweenCommitAndAnswer
    /// The disk fails in a commit. The callers are told that it is unknown whether their writes were made; the process
    /// ends because of that.
    case unknownCommit
  }
  enum SupervisorsWord: CaseIterable, Sendable { case none, blameless, loss }
  enum Direction: CaseIterable, Sendable { case both, up, down }
  enum Condition: CaseIterable, Sendable {
    case power, battery, lowPower, network, idle, temperature, gpu, label, owner, hours
  }

  /// Whether this is an ordinary action of an operator and not a fault.
  var isOperators: Bool {
    switch kind {
    case .cancel, .cancelAll, .evict, .pauseFleet, .drainHost, .simulateLaunch, .simulateExpiry, .simulateConditions,
      .applyAgain, .remove, .redefine, .retryFailed, .setSpread, .pauseSchedule, .backfill:
      true
    case .crashCoordinator, .pauseCoordinator, .killWorker, .pauseWorker, .restartWorker, .loseConnection, .partition,
      .slowNetwork, .slowStore, .fullDisk, .overload, .repeatMessages, .stepClock, .cutOffStore, .loseCondition:
      false
    }
  }
}

extension Schedule {
  mutating func addFault(_ draw: inout Draw) {
    let at = draw.milliseconds(500...Int(calmAt.inSeconds * 950))
    faults.append(Fault(at: at, kind: draw.chance(70) ? damage(&draw) : operation(&draw)))
  }

  private func damage(_ draw: inout Draw) -> Fault.Kind {
    if coordinators > 1, draw.chance(15) { return .cutOffStore(draw.milliseconds(200...20_000)) }
    if coordinators > 1, draw.chance(15) {
      return .crashCoordinator(.unknownCommit, downFor: draw.milliseconds(10...12_000), reboots: false)
    }
    let host = draw.number(0...hosts.count - 1)
    switch draw.number(0...27) {
    case 0...3:
      return .crashCoordinator(
        draw.one(of: Fault.CrashPoint.allCases), downFor: draw.milliseconds(10...12_000), reboots: draw.chance(15))
    case 4: return .pauseCoordinator(draw.milliseconds(100...25_000))
    case 5...7:
      return .killWorker(
        host, word: draw.one(of: Fault.SupervisorsWord.allCases), backAfter: draw.milliseconds(50...20_000),
        losesPower: draw.chance(25))
    case 8, 9: return .pauseWorker(host, draw.milliseconds(500...40_000))
    case 10: return .restartWorker(host)
    case 11...13:
      return .loseConnection(
        host, workerNotices: draw.milliseconds(draw.one(of: [0...100, 0...20_000])),
        coordinatorNotices: draw.milliseconds(draw.one(of: [0...100, 0...60_000])))
    case 14, 15: return .partition(host, draw.one(of: Fault.Direction.allCases), draw.milliseconds(200...30_000))
    case 16: return .slowNetwork(host, draw.milliseconds(1_000...20_000))
    case 17: return .slowStore(draw.milliseconds(1_000...10_000))
    case 18: return .stepClock(Self.step(&draw))
    case 19, 20: return .fullDisk(draw.milliseconds(200...12_000))
    case 21: return .overload(draw.milliseconds(500...10_000))
    case 22: return .repeatMessages(host, draw.milliseconds(2_000...20_000))
    default: return .loseCondition(host, draw.one(of: Fault.Condition.allCases), draw.milliseconds(500...30_000))
    }
  }

  /// Draws a step of 1 second to 10 years, forwards or backwards.
  private static func step(_ draw: inout Draw) -> Duration {
    .seconds(draw.one(of: [1, 30, 3_600, 86_400, 30 * 86_400, 3_650 * 86_400]) * draw.one(of: [-1, 1]))
  }

  /// Adds operators who change the number of lanes of requests that are divided.
  mutating func addChangesOfSpread(_ draw: inout Draw) {
    let divided = requests.map(\.identifier).filter { definition(for: $0)?.spread != nil }
    guard !divided.isEmpty else { return }
    for _ in 0..<draw.number(0...6) {
      let at = draw.milliseconds(500...Int(calmAt.inSeconds * 950))
      faults.append(Fault(at: at, kind: .setSpread(draw.one(of: divided), draw.number(1...5))))
    }
  }

  /// Adds operators who pause schedules and make up for times that have passed.
  mutating func addWordsOfSchedules(_ draw: inout Draw) {
    let repeating = definitions.filter(\.repeats).compactMap(\.pattern.literal)
    guard !repeating.isEmpty, draw.chance(50) else { return }
    for _ in 0..<draw.number(1...4) {
      let at = draw.milliseconds(500...Int(calmAt.inSeconds * 950))
      let job = draw.one(of: repeating)
      let kind: Fault.Kind =
        draw.chance(60)
        ? .pauseSchedule(job, draw.milliseconds(4_000...60_000))
        : .backfill(
          job, minutes: draw.number(1...6), stopsAfter: draw.chance(30) ? draw.milliseconds(100...20_000) : nil)
      faults.append(Fault(at: at, kind: kind))
    }
  }

  private func operation(_ draw: inout Draw) -> Fault.Kind {
    let host = draw.number(0...hosts.count - 1)
    let identifier = draw.one(of: requests).identifier
    let lasting = draw.milliseconds(4_000...30_000)
    switch draw.number(0...15) {
    case 0...2: return .cancel(identifier)
    case 3, 4:
      let pattern = definition(for: identifier)?.pattern ?? IdentifierPattern(identifier)
      return .evict(draw.chance(50) ? pattern : IdentifierPattern(identifier), host, lasting)
    case 5: return .pauseFleet(lasting)
    case 6: return .drainHost(host, lasting)
    case 7: return .simulateLaunch(identifier)
    case 8: return .simulateExpiry(identifier)
    case 9: return .simulateConditions(host, lasting)
    case 10: return .applyAgain(draw.number(0...definitions.count - 1))
    case 11: return .remove(draw.number(0...definitions.count - 1), lasting)
    case 12, 13: return .redefine(identifier)
    case 14: return draw.chance(20) ? .cancelAll : .cancel(identifier)
    default: return .retryFailed
    }
  }
}
