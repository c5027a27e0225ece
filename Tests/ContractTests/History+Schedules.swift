import BatonModel
import BatonStore

/// What the contract says of times of the calendar, in a few lines. The times are the multiples of a period, so the
/// model needs no calendar.
extension History {
  struct Calendar {
    /// The time of the chain that comes next, or came last; `nil` if there was none, or if a delay began the chain.
    var anchor: Timestamp?
    var isPaused = false
    var backfill: Times?
    /// Whether the waiting request was ready when the model looked last.
    var isReady = false

    /// The times of a backfill that are left.
    struct Times {
      var left: [Timestamp]
      var hasChain: Bool
    }
  }

  // MARK: Steps

  /// A person pauses or resumes the schedule, or begins or stops a backfill.
  mutating func sayOfSchedule(_ name: JobIdentifier) throws {
    guard let schedule = jobs[name]?.definition.schedule, let model = models[name] else { return }
    switch draw.number(0...5) {
    case 0, 1: try model.calendar.isPaused ? resume(name, schedule) : pause(name)
    case 2 where model.calendar.isPaused: try resume(name, schedule)
    case 2, 3: if model.calendar.backfill == nil { try backfill(name, schedule) }
    case 4: if draw.number(0...2) == 0 { try stopBackfill(name) }
    default: break
    }
    try fleet.settle()
    try hear()
  }

  private mutating func pause(_ name: JobIdentifier) throws {
    models[name]?.calendar.isPaused = true
    try fleet.pause(name)
  }

  private mutating func resume(_ name: JobIdentifier, _ schedule: JobSchedule) throws {
    models[name]?.calendar.isPaused = false
    // Also while the request before runs: a time that passed during the pause was missed.
    if models[name]?.waiting?.mark != .isPart { models[name]?.leaveOutMissed(schedule, at: fleet.now.date) }
    try fleet.resume(name)
  }

  private mutating func backfill(_ name: JobIdentifier, _ schedule: JobSchedule) throws {
    let now = fleet.now.date
    let range = Backfill(
      by: "test", startedAt: now, from: now + .seconds(-3 * 3600), until: now + .seconds(-1800), total: 0)
    var left: [Timestamp] = []
    while let time = Optional((left.last ?? range.from + .nanoseconds(-1)).next(schedule.period)), time < range.until {
      left.append(time)
    }
    models[name]?.begin(left, at: fleet.now)
    try fleet.backfill(name, range)
  }

  private mutating func stopBackfill(_ name: JobIdentifier) throws {
    models[name]?.stop()
    try fleet.stopBackfill(name)
  }

  // MARK: Events

  /// Leaves out the times that were missed, which the coordinator notices when it looks at what is due.
  mutating func leaveOutMissedTimes() {
    for (name, job) in jobs {
      guard let schedule = job.definition.schedule, let model = models[name], model.live == nil,
        !model.calendar.isPaused, !model.calendar.isReady, model.waiting?.mark != .isPart
      else { continue }
      models[name]?.leaveOutMissed(schedule, at: fleet.now.date)
    }
  }

  mutating func lookAtReady() {
    for (name, job) in jobs where job.definition.schedule != nil {
      guard let number = models[name]?.waiting?.number else { continue }
      let isReady = (try? record(name, number))??.state == .ready
      models[name]?.calendar.isReady = isReady
    }
  }

  mutating func checkSchedule(
    of waiting: Model.Request, _ assignment: Assignment, _ model: Model, _ name: JobIdentifier
  ) throws {
    guard jobs[name]?.definition.schedule != nil else { return }
    try expect(assignment.scheduledAt == waiting.scheduledAt, name, "it stands for \(waiting.scheduledAt as Any)")
    guard let time = waiting.scheduledAt else { return }
    scheduledStarts += 1
    try expect(!model.calendar.isPaused, name, "nothing of a paused schedule starts")
    try expect(time <= fleet.now.date, name, "nothing starts before its time")
  }

  func checkTime(of waiting: RequestRecord, _ wanted: Model.Request, _ name: JobIdentifier) throws {
    guard jobs[name]?.definition.schedule != nil else { return }
    try expect(
      waiting.scheduledAt == wanted.scheduledAt, name,
      "the waiting request stands for \(waiting.scheduledAt as Any), and not for \(wanted.scheduledAt as Any)")
    try expect(waiting.isBackfill == (wanted.mark == .isPart), name, "whether it is a backfill's")
    let isHeld = models[name]?.calendar.isPaused == true && wanted.scheduledAt != nil
    try expect((waiting.waitsBecause?.kind == .schedulePaused) == isHeld, name, "whether it is held")
  }
}

extension History.Model {
  /// A time that passed more than a minute ago is left out with `missed: skip`.
  mutating func leaveOutMissed(_ schedule: JobSchedule, at date: Timestamp) {
    guard schedule.missed == .skip, let time = waiting?.scheduledAt, date - time > .seconds(60) else { return }
    move(to: date.next(schedule.period))
  }

  /// A time that came while the request before ran is left out with `overlap: skip`.
  mutating func leaveOutOverlap(_ schedule: JobSchedule, at date: Timestamp) {
    guard schedule.overlap == .skip, !calendar.isPaused, let waiting, waiting.mark == .unrelated,
      let time = waiting.scheduledAt, time <= date
    else { return }
    move(to: date.next(schedule.period))
  }

  private mutating func move(to time: Timestamp) {
    waiting?.stand(for: time, .unrelated)
    calendar.anchor = time
  }

  /// The next request is submitted when the first launch of `last` starts.
  mutating func goOn(after last: Request, _ schedule: JobSchedule, at now: Now) {
    var begin: Timestamp? = now.date.next(schedule.period)
    if last.mark == .isPart {
      if calendar.backfill?.hasChain == false { begin = nil }
      if begin != nil, let anchor = calendar.anchor, anchor <= now.date { begin = anchor }
    } else if schedule.missed == .all, let anchor = calendar.anchor, anchor <= now.date {
      begin = anchor.next(schedule.period)
    }
    var mark = last.mark == .isPart ? BackfillMark.follows : .unrelated
    if var backfill = calendar.backfill {
      if last.mark == .isPart { backfill.left.removeFirst() } else { backfill.hasChain = begin != nil }
      calendar.backfill = backfill.left.isEmpty ? nil : backfill
      if let time = backfill.left.first, begin.map({ $0 > now.date }) ?? true {
        calendar.anchor = begin ?? calendar.anchor
        (begin, mark) = (time, .isPart)
      }
    }
    guard let begin else { return }
    if mark != .isPart { calendar.anchor = begin }
    lastNumber += 1
    wait(for: begin, mark, lastNumber, at: now)
  }

  mutating func begin(_ times: [Timestamp], at now: Now) {
    guard let first = times.first else { return }
    calendar.backfill = History.Calendar.Times(left: times, hasChain: waiting != nil)
    if let waiting {
      // What a person has asked for goes first, and so does what is due.
      guard let time = waiting.scheduledAt, time > now.date, !calendar.isReady else { return }
      wait(for: first, .isPart, waiting.number, at: now)
    } else {
      lastNumber += 1
      wait(for: first, .isPart, lastNumber, at: now)
    }
  }

  mutating func stop() {
    defer { calendar.backfill = nil }
    guard let backfill = calendar.backfill, waiting?.mark == .isPart else { return }
    guard backfill.hasChain, let anchor = calendar.anchor else {
      waiting = nil
      return
    }
    waiting?.stand(for: anchor, .unrelated)
  }

  private mutating func wait(for time: Timestamp, _ mark: BackfillMark, _ number: Int, at now: Now) {
    var request = Request(number: number, submittedSteady: now.steady)
    request.stand(for: time, mark)
    waiting = request
  }
}

extension History.Model.Request {
  fileprivate mutating func stand(for time: Timestamp, _ mark: BackfillMark) {
    (scheduledAt, earliest, self.mark) = (time, .at(time), mark)
  }
}

extension JobSchedule {
  /// The time between two times: the expressions of the histories are `*/20 * * * *`, `*/30 * * * *` and `0 * * * *`.
  fileprivate var period: Duration {
    switch cron.text {
    case "*/20 * * * *": .seconds(1200)
    case "*/30 * * * *": .seconds(1800)
    default: .seconds(3600)
    }
  }
}

extension Timestamp {
  /// The first multiple of the period after this time.
  fileprivate func next(_ period: Duration) -> Timestamp {
    Timestamp(nanoseconds: (nanoseconds / period.nanoseconds + 1) * period.nanoseconds)
  }
}

extension EarliestBeginDate {
  /// The date; `nil` for a delay.
  var date: Timestamp? {
    switch self {
    case .at(let date): date
    case .afterSubmission: nil
    }
  }
}
