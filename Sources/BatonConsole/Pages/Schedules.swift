import BatonAPI
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

extension Console {
  var scheduleRoutes: [Route] {
    [page("/schedules", "Definitions", query: ["pattern", "after"], SchedulesPage.show)]
      + ScheduleActions.all.flatMap(action)
  }
}

/// The page with the jobs that come by themselves.
enum SchedulesPage {
  /// For each job its newest requests are read.
  private static let size = 50

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let query = visit.query.withoutEmptyValues
    let pattern = try query.text("pattern").map { text throws(HTTPFailure) in try Call.pattern(text) }
    let after = try query.text("after").map { text throws(HTTPFailure) in try Call.pattern(text) }
    let (jobs, rest, count) = try await visit.run { api in
      let found = try await api.definitions(named: pattern.map { [$0] } ?? []).filter(ScheduledJob.includes)
      let rest = found.filter { report in after.map { $0 < report.definition.pattern } ?? true }
      var jobs: [ScheduledJob] = []
      for report in rest.prefix(size) { jobs.append(try await ScheduledJob(report, asking: api)) }
      return (jobs, rest.count, found.count)
    }
    let last = rest > size ? jobs.last?.definition.pattern.rawValue : nil
    let next = last.map { Link("schedules", query: [("pattern", pattern?.rawValue), ("after", $0)]) }
    return Page(
      title: "Schedules", section: .schedules, topics: [.definitions, .requests],
      main: """
        <h1>Schedules</h1>
        <p class="lead">The jobs that come by themselves: by a calendar, or by an interval.</p>
        \(count == 0 && pattern == nil ? "" : filter(pattern, count))
        \(jobs.isEmpty ? nothing(pattern) : table(jobs, visit))
        \(Fields.pages(next: next, "schedules"))
        """)
  }

  private static func filter(_ pattern: IdentifierPattern?, _ count: Int) -> HTML {
    """
    <form class="filters" action="/schedules">
    <label>Identifier or pattern <input name="pattern" value="\(pattern?.rawValue ?? "")" placeholder="com.example.*" \
    maxlength="255" autocomplete="off"></label>
    <p class="buttons"><button>Filter</button> <a class="button" href="/schedules">Clear</a></p>
    </form>
    <p class="quiet">\(counted(count, "schedule"))</p>
    """
  }

  private static func nothing(_ pattern: IdentifierPattern?) -> HTML {
    if pattern != nil {
      return Parts.empty("<p>No job that matches comes by itself. <a href=\"/schedules\">Show all</a></p>")
    }
    return Parts.empty(
      """
      <p>No job comes by itself. A job file says so with <code>schedule</code> or <code>repeat</code>:</p>
      \(Parts.command("schedule: {cron: \"0 2 * * *\", timeZone: Europe/Berlin}"))
      """)
  }

  private static func table(_ jobs: [ScheduledJob], _ visit: Visit) -> HTML {
    let rows = jobs.enumerated().map { index, job -> HTML in
      """
      <tr id="schedule-\(index)"><th scope="row">\(Parts.definition(job.definition.pattern))\
      \(job.definition.title.map { "<br><small>\($0)</small>" })</th>\
      <td><code>\(job.definition.comesWhen)</code></td><td>\(next(of: job, visit.now))</td>\
      <td>\(last(of: job, visit.now))</td><td>\(standing(of: job, visit.now))</td>\
      <td class="actions">\(ScheduleActions.buttons(job.definition.pattern, job.standing, visit))</td></tr>
      """
    }
    return Parts.table("Schedules", ["Job", "When", "Next", "Last", "Pause and backfill", "Actions"], rows)
  }

  private static func next(of job: ScheduledJob, _ now: Timestamp) -> HTML {
    guard let request = job.next else { return "<span class=\"state away\">not scheduled</span>" }
    let link = Parts.link(of: request.identifier, request.number)
    guard let at = job.nextAt else {
      return "<a href=\"\(link)\">\(request.waitsBecause?.text ?? request.state.rawValue)</a>"
    }
    return "\(Parts.time(at, now))<br><small><a href=\"\(link)\">\(job.zone.words(for: at))</a></small>"
  }

  private static func last(of job: ScheduledJob, _ now: Timestamp) -> HTML {
    guard let request = job.last else { return "never" }
    let why = request.state == .failed ? (request.reason ?? "").lastLine : ""
    return """
      \(request.startedAt.map { Parts.time($0, now) }) \
      <a href="\(Parts.link(of: request.identifier, request.number))">\(Parts.state(request.state))</a>\
      \(!why.isEmpty, "<br><small>\(why)</small>")
      """
  }

  private static func standing(of job: ScheduledJob, _ now: Timestamp) -> HTML {
    let pause: HTML? = job.standing.pause.map { pause in
      """
      <span class="state paused">paused</span> \(Parts.time(pause.since, now)) by \(pause.by)<br><small>\(pause.reason)</small>
      """
    }
    let backfill: HTML? = job.standing.backfill.map { backfill in
      let all = max(backfill.made, backfill.total)
      return """
        \(Parts.bar(Double(backfill.made) / Double(max(1, all)), backfill.words)) \(backfill.words), for \(backfill.by)<br>\
        <small>\(backfill.from.utc) to \(backfill.until.utc)</small>
        """
    }
    return [pause, backfill].compactMap { $0 }.joined(by: "<br>")
  }
}

/// What can be said of a schedule.
enum ScheduleActions {
  static let all = [pause, resume, stop]

  /// The buttons that make sense for a schedule now.
  static func buttons(_ pattern: IdentifierPattern, _ standing: ScheduleStanding, _ visit: Visit) -> HTML {
    let link = Parts.link(of: pattern)
    return [
      standing.pause == nil
        ? visit.button("Pause", link.appending("pause"), "SetSchedules")
        : visit.button("Resume", link.appending("resume"), "SetSchedules"),
      standing.backfill == nil
        ? "" : visit.button("Stop the backfill", link.appending("stop-backfill"), "StopBackfill", isDangerous: true),
    ].filter { !$0.isEmpty }.joined(by: " ")
  }

  private static let page = Link("schedules")

  private static let pause = Action(
    path: "/definitions/{pattern}/pause", method: "SetSchedules", fields: ["reason"],
    question: { visit, form in
      let pattern = try visit.call.pattern
      return Question(
        title: "Pause the schedule of \(pattern.rawValue)",
        text: """
          <p>No request starts that the schedule has made, also after a restart, until the schedule is resumed. What runs \
          goes on, and what a person submits starts nevertheless.</p>
          """,
        fields: """
          <label>Why, for those who find it paused
          <input name="reason" required maxlength="\(SchedulePause.longestReason)" autocomplete="off" \
          value="\(try form.text("reason") ?? "")"></label>
          """, button: "Pause", back: page)
    },
    perform: { visit, form in
      let (pattern, reason) = (try visit.call.pattern, try form.text("reason") ?? "")
      let changed = try await visit.run {
        try await $0.setSchedules(pattern, .pause(reason: reason), by: visit.principal)
      }
      return Outcome(
        text: "\(counted(changed.count, "schedule")) of \(pattern) \(changed.count == 1 ? "is" : "are") paused.",
        page: page, undo: ("Resume", Parts.link(of: pattern).appending("resume")))
    })

  private static let resume = Action(
    path: "/definitions/{pattern}/resume", method: "SetSchedules",
    question: { visit, _ in
      let pattern = try visit.call.pattern
      return Question(
        title: "Resume the schedule of \(pattern.rawValue)",
        text: """
          <p>The times that have passed meanwhile count as <code>schedule.missed</code> of the definition says: one request \
          stands for all of them, each has one, or they are left out.</p>
          """, button: "Resume", back: page)
    },
    perform: { visit, _ in
      let pattern = try visit.call.pattern
      let changed = try await visit.run { try await $0.setSchedules(pattern, .resume, by: visit.principal) }
      return Outcome(
        text: "\(counted(changed.count, "schedule")) of \(pattern) \(changed.count == 1 ? "goes" : "go") on.",
        page: page, undo: ("Pause", Parts.link(of: pattern).appending("pause")))
    })

  private static let stop = Action(
    path: "/definitions/{pattern}/stop-backfill", method: "StopBackfill",
    question: { visit, _ in
      let pattern = try visit.call.pattern
      let found = try await visit.run { try await $0.definitions(named: [pattern]) }
      let backfill = found.first { $0.definition.pattern == pattern }?.standing.backfill
      return Question(
        title: "Stop the backfill of \(pattern.rawValue)",
        text: backfill.map { "<p>It stands at \($0.words). What runs goes on, and no more times get requests.</p>" }
          ?? "<p>No backfill of it goes on: nothing will change.</p>",
        button: "Stop the backfill", isDangerous: true, back: page)
    },
    perform: { visit, _ in
      guard let identifier = try visit.call.pattern.literal else {
        throw HTTPFailure.invalid("a backfill concerns one identifier, not a pattern that ends in '.*'")
      }
      let ended = try await visit.run { try await $0.stopBackfill(of: identifier) }
      return Outcome(text: "The backfill of \(identifier) has ended: \(ended.words).", page: page)
    })
}
