import BatonBase
package import BatonModel

extension DefinitionDecoder {
  static let exampleOfSchedule = "{cron: \"0 2 * * 1-5\", timeZone: Europe/Berlin}"

  mutating func schedule(_ field: Field) -> JobSchedule? {
    guard let fields = mapping(field, .schedule, example: Self.exampleOfSchedule) else { return nil }
    guard let cronField = fields["cron"] else {
      report.error("key 'schedule.cron' is missing; write schedule: \(Self.exampleOfSchedule)", at: field.keyPosition)
      return nil
    }
    // Everything is read, so that a person sees all mistakes at once.
    let (cron, zone) = (cron(cronField), zone(fields["timeZone"]))
    let jitter = fields["jitter"].flatMap { self.jitter($0, cron) }
    let exclude = dates(fields["exclude"])
    let missed = fields["missed"].flatMap { choice($0, MissedRuns.self) }
    let overlap = fields["overlap"].flatMap { choice($0, Overlap.self) }
    let (from, until) = (
      bound(fields["from"], zone?.offsets ?? .utc, isEnd: false),
      bound(fields["until"], zone?.offsets ?? .utc, isEnd: true)
    )
    guard let cron, let zone else { return nil }
    let schedule = JobSchedule(
      cron: cron, timeZone: zone.name, jitter: jitter ?? .zero, exclude: exclude, missed: missed ?? .once,
      overlap: overlap ?? .wait, from: from, until: until)
    if let from = schedule.from, let until = schedule.until, until <= from, let field = fields["until"] {
      report.error("\(field.label) is not after 'schedule.from'", at: field.value.position)
      return nil
    }
    tellTimes(of: schedule, in: zone.offsets, at: cronField.value.position)
    return schedule
  }

  /// Reports the next times in a note, so that a person sees what the expression means.
  private mutating func tellTimes(of schedule: JobSchedule, in zone: ZoneOffsets, at position: Position) {
    var times: [Timestamp] = []
    var plain = schedule
    plain.jitter = .zero
    while times.count < 3,
      let next = plain.next(after: times.last ?? context.options.now, of: JobIdentifier(trusted: "x"), in: zone)
    {
      times.append(next)
    }
    guard !times.isEmpty else {
      return report.warning("'schedule' gives no time from now on; nothing comes by itself", at: position)
    }
    let words = times.map { zone.words(for: $0) }.joined(separator: ", ")
    let jitter = schedule.jitter > .zero ? ", each up to \(DurationText.text(schedule.jitter)) later" : ""
    let ending = times.count < 3 ? "; there are no others" : ""
    report.note("the next times in \(schedule.timeZone) are \(words)\(jitter)\(ending)", at: position)
  }

  private mutating func cron(_ field: Field) -> CronExpression? {
    guard let text = literal(field.value, label: field.label) else { return nil }
    do throws(CronProblem) {
      return try CronExpression(text)
    } catch {
      report.error("\(field.label): \(error.description)", at: field.value.position)
      return nil
    }
  }

  private mutating func zone(_ field: Field?) -> (name: String, offsets: ZoneOffsets)? {
    guard let field else { return ("UTC", .utc) }
    let expected = "the name of a time zone, such as Europe/Berlin or UTC"
    guard let name = scalar(field, expected) else { return nil }
    guard let offsets = ZoneOffsets.named(name) else { return refused(field, expected) }
    return (name, offsets)
  }

  /// - Parameter cron: `nil` if the expression is wrong.
  private mutating func jitter(_ field: Field, _ cron: CronExpression?) -> Duration? {
    guard let jitter = parsed(field, DurationText.examples, DurationText.parse) else { return nil }
    if !(Duration.zero...JobSchedule.longestJitter).contains(jitter) {
      return refused(field, "a duration from 0s to 24h")
    }
    guard let cron else { return jitter }
    // The shortest time between two of the next runs; a later one would come before its predecessor.
    let times = CalendarTimes(cron, in: .utc)
    var (last, shortest) = (times.next(after: context.options.now), Duration.seconds(86_400 * 366))
    for _ in 0..<100 {
      guard let before = last, let next = times.next(after: before) else { break }
      shortest = min(shortest, next - before)
      last = next
    }
    if jitter > shortest {
      report.error(
        "\(field.label) is longer than the time between two runs, which is \(DurationText.text(shortest)) at the shortest",
        at: field.value.position)
      return nil
    }
    return jitter
  }

  private mutating func dates(_ field: Field?) -> [CivilDate] {
    let expected = "a list of dates such as [2026-12-25, 2027-01-01]"
    guard let field, let nodes = list(field, expected) else { return [] }
    if nodes.count > JobSchedule.mostExcluded {
      report.error(
        "\(field.label) has \(nodes.count) dates; \(JobSchedule.mostExcluded) are the most", at: field.value.position)
      return []
    }
    var dates: [CivilDate] = []
    for node in nodes {
      guard let text = literal(node, label: "a value of \(field.label)") else { continue }
      guard let date = CivilDate(text) else {
        report.error("\(quoted(text)) in \(field.label) is no date such as 2026-12-25", at: node.position)
        continue
      }
      if dates.contains(date) {
        report.error("\(field.label) has \(quoted(text)) twice; remove one of them", at: node.position)
      }
      dates.append(date)
    }
    return dates
  }

  /// A time, or the begin or the end of a local day.
  private mutating func bound(_ field: Field?, _ zone: ZoneOffsets, isEnd: Bool) -> Timestamp? {
    let expected = "a date such as 2027-01-01, or \(DateText.examples)"
    guard let field, let text = scalar(field, expected) else { return nil }
    guard let date = CivilDate(text) else { return parsed(field, expected, DateText.parse) }
    let day = isEnd ? CivilDate(daysSince1970: date.daysSince1970 + 1) : date
    let second = zone.instant(of: CivilTime(day)) - (isEnd ? 1 : 0)
    guard Definition.Limits.datesInSeconds.contains(second) else {
      return refused(field, expected, hint: Mistake.because("its year must be from 1970 to 2260").hint)
    }
    return Timestamp(nanoseconds: second * 1_000_000_000)
  }
}

extension ZoneOffsets {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

  /// What clocks in the zone show, such as `Mon 2026-11-30 02:00`.
  package func words(for time: Timestamp) -> String {
    let local = localTime(at: Int64(time.wholeSeconds))
    return "\(Self.weekdays[local.date.weekday]) \(local.description.dropLast(3))"
  }
}
