import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

extension Console {
  var overviewRoutes: [Route] {
    [
      page("/", "List") { visit in
        let facts = try await visit.console.overviews.value(of: visit.key, at: visit.now) {
          try await visit.run { try await Overview(asking: $0, at: visit.now) }
        }
        return Page(title: "Overview", section: .overview, topics: [.overview], main: facts.main(visit))
      }
    ] + action(Self.pause) + action(Self.resume)
  }

  private static let pause = Action(
    path: "/fleet/pause", method: "Pause",
    question: { visit, _ in
      let running = try await visit.run { api in
        try await api.definitions(named: []).reduce(0) { $0 + ($1.counts[.running] ?? 0) }
      }
      return Question(
        title: "Pause the fleet",
        text: """
          <p>No launch starts, and no submission is accepted, until the fleet is resumed. \
          \(running == 0 ? "Nothing runs now." : "\(counted(running, "request")) of now go on and are not stopped.")</p>
          """, button: "Pause the fleet", back: Link())
    },
    perform: { visit, _ in
      try await visit.run { try await $0.setPaused(true) }
      return Outcome(
        text: "The fleet is paused: no launch starts.", page: Link(), undo: ("Resume", Link("fleet", "resume")))
    })

  private static let resume = Action(
    path: "/fleet/resume", method: "Pause",
    question: { _, _ in
      Question(
        title: "Resume the fleet", text: "<p>Requests that are ready start again.</p>", button: "Resume the fleet",
        back: Link())
    },
    perform: { visit, _ in
      try await visit.run { try await $0.setPaused(false) }
      return Outcome(text: "The fleet is resumed.", page: Link(), undo: ("Pause", Link("fleet", "pause")))
    })
}

/// What a person looks at first.
struct Overview: Sendable {
  /// How many running requests are shown.
  private static let shown = 20

  let status: FleetStatus
  let running: [RequestRecord]

  init(asking api: any OperatorAPI, at now: Timestamp) async throws {
    status = try await FleetStatus(asking: api, at: now)
    running = try await api.requests(RequestFilter(states: [.running]), after: nil, limit: Self.shown)
  }

  func main(_ visit: Visit) -> HTML {
    let pause =
      status.standing.isPaused
      ? visit.button("Resume the fleet", Link("fleet", "resume"), "Pause")
      : visit.button("Pause the fleet", Link("fleet", "pause"), "Pause")
    return """
      <div class="heading"><h1>Overview</h1><p class="buttons">\(pause)</p></div>
      \(cards)
      <div class="columns">
      <section><h2>Needs you</h2>\(matters)</section>
      <section><h2>Why requests wait</h2>\(waits)</section>
      </div>
      <section><h2>Running, the oldest first</h2>\(runs(visit))</section>
      <section><h2>Hosts</h2>\(hosts)</section>
      """
  }

  private var cards: HTML {
    Parts.cards(status.counts) { Link("requests", query: [("state", $0.rawValue)]) }
  }

  // MARK: What needs a person

  private var matters: HTML {
    let matters = status.attention
    guard !matters.isEmpty else { return "<p>Nothing needs a person.</p>" }
    let items = matters.map { matter -> HTML in
      """
      <li class="\(matter.kind)"><a href="\(link(matter))">\(matter.fact)</a>\
      \(matter.command.map { command -> HTML in " <code>\(command)</code>" })</li>
      """
    }
    return "<ol class=\"matters\">\(items)</ol>"
  }

  private func link(_ matter: FleetStatus.Matter) -> Link {
    switch matter.subject {
    case .fleet: matter.kind == "paused" ? Link("fleet", "resume") : Link("about")
    case .hosts: Link("hosts", query: [("state", matter.kind == "allDraining" ? "draining" : "gone")])
    case .failures: Link("requests", query: [("state", "failed")])
    case .queue: Link("queue")
    case .request(let identifier, let number):
      ["waits", "noHost"].contains(matter.kind)
        ? Parts.link(of: identifier, number).appending("why") : Parts.link(of: identifier, number)
    case .definition(let pattern):
      switch matter.kind {
      case "noHost" where pattern.isWildcard:
        Link("requests", query: [("state", "ready"), ("id", pattern.rawValue)])
      case "noHost": Link("requests", pattern.rawValue, "why")
      default: Parts.link(of: pattern)
      }
    }
  }

  // MARK: Why requests wait

  private var waits: HTML {
    var counts: [String: Int] = [:]
    for one in status.queue.classes { counts[one.obstacle ?? "", default: 0] += one.ready }
    let rows = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    guard let most = rows.first?.value else {
      return Parts.empty("<p>No request is ready: nothing waits for a host.</p>")
    }
    let items = rows.prefix(12).map { code, count -> HTML in
      let name: HTML = code.isEmpty ? "about to start" : Parts.reason(code)
      return """
        <li>\(name)\(Parts.bar(Double(count) / Double(max(1, most)), "\(count) of \(most)", width: 160))\
        <a class="count" href="/queue">\(Parts.number(count))</a></li>
        """
    }
    return "<ul class=\"rows\">\(items)</ul><p><a href=\"/queue\">The queue, in the order of its starts</a></p>"
  }

  // MARK: What runs

  private func runs(_ visit: Visit) -> HTML {
    guard !running.isEmpty else { return nothingRuns }
    return Parts.table(
      "Running requests", ["Request", "Host", "Progress", "Started"],
      running.enumerated().map { index, record in
        """
        <tr id="run-\(index)"><td>\(Parts.request(record.identifier, record.number))</td>\
        <td>\(record.host.map { Parts.host($0) })</td><td>\(RequestParts.progress(record))</td>\
        <td>\(record.startedAt.map { Parts.time($0, visit.now) })</td></tr>
        """
      })
  }

  private var nothingRuns: HTML {
    if status.hosts.states.values.reduce(0, +) == 0 {
      return Parts.empty(
        """
        <p>Nothing runs: the fleet has no host. A host joins with an invitation, which an operator makes:</p>
        \(Parts.command("baton fleet invite NAME"))
        <p>On this machine alone, a coordinator with a worker is one command:</p>
        \(Parts.command("baton up"))
        """)
    }
    if status.counts.values.reduce(0, +) == 0 {
      return Parts.empty(
        """
        <p>Nothing runs: no request was submitted yet. <a href="/definitions/check">Check and apply a definition \
        here</a>, and submit a request on its page. The same in a terminal:</p>
        \(Parts.command("baton apply job.yaml\nbaton submit com.example.job --wait"))
        """)
    }
    return Parts.empty("<p>Nothing runs.</p>")
  }

  // MARK: Hosts

  private var hosts: HTML {
    let summary = status.hosts
    let states = HostReport.State.allCases.compactMap { state -> HTML? in
      guard let count = summary.states[state], count > 0 else { return nil }
      return
        "<li><a href=\"\(Link("hosts", query: [("state", state.rawValue)]))\">\(Parts.number(count)) \(Parts.state(state))</a></li>"
    }
    let conditions = HostFilter.Condition.allCases.compactMap { condition -> HTML? in
      guard let count = summary.conditions[condition], count > 0 else { return nil }
      return """
        <li><a href="\(Link("hosts", query: [("condition", condition.rawValue)]))">\(Parts.number(count)) \
        \(condition.rawValue)</a></li>
        """
    }
    guard !states.isEmpty else { return Parts.empty("<p>The fleet has no host yet.</p>") }
    return """
      <ul class="strip">\(states)\(conditions)\
      <li>\(Parts.number(summary.usedSlots)) of \(Parts.number(summary.slots)) slots in use</li></ul>
      """
  }
}
