import BatonAPI
import BatonCoordinator
import BatonModel
import BatonSpec
import BatonStore

/// What can be done with a host.
enum HostActions {
  static let all = [drain, undrain, evict, HostSimulation.action, forget]

  /// The buttons of what makes sense for a host now.
  /// - Parameter isShort: only those of a list.
  static func buttons(_ host: HostReport, _ visit: Visit, isShort: Bool) -> HTML {
    let link = Parts.link(of: host.name)
    var buttons: [HTML] = []
    if host.state == .draining {
      buttons.append(visit.button("Undrain", link.appending("undrain"), "Drain"))
    } else if host.state != .gone {
      buttons.append(visit.button("Drain", link.appending("drain"), "Drain"))
    }
    buttons.append(visit.button("Evict", link.appending("evict"), "Evict"))
    guard !isShort else { return buttons.filter { !$0.isEmpty }.joined(by: " ") }
    if host.state == .gone {
      buttons.append(visit.button("Forget", link.appending("forget"), "ForgetHost", isDangerous: true))
    } else {
      buttons.append(visit.button("Simulate", link.appending("simulate"), "SimulateConditions"))
    }
    return buttons.filter { !$0.isEmpty }.joined(by: " ")
  }

  // MARK: Drain

  private static let drain = Action(
    path: "/hosts/{host}/drain", method: "Drain",
    question: { visit, _ in
      let host = try await visit.host()
      let running = host.running.count
      return Question(
        title: "Drain \(host.name.rawValue)",
        text: """
          <p>The host takes no new launches, also after a restart. What runs there goes on: now \
          \(running == 0 ? "nothing does" : counted(running, "launch", plural: "launches")). \
          <strong>Undrain</strong> takes it back.</p>
          """, button: "Drain", back: Parts.link(of: host.name))
    },
    perform: { visit, _ in
      let host = try visit.call.host
      try await visit.run { try await $0.setDraining(host, true) }
      let link = Parts.link(of: host)
      return Outcome(
        text: "\(host.rawValue) takes no new launches.", page: link, undo: ("Undrain", link.appending("undrain")))
    })

  private static let undrain = Action(
    path: "/hosts/{host}/undrain", method: "Drain",
    question: { visit, _ in
      let host = try await visit.host()
      return Question(
        title: "Undrain \(host.name.rawValue)", text: "<p>The host takes launches again.</p>", button: "Undrain",
        back: Parts.link(of: host.name))
    },
    perform: { visit, _ in
      let host = try visit.call.host
      try await visit.run { try await $0.setDraining(host, false) }
      let link = Parts.link(of: host)
      return Outcome(
        text: "\(host.rawValue) takes launches again.", page: link, undo: ("Drain", link.appending("drain")))
    })

  // MARK: Evict

  private static let evict = Action(
    path: "/hosts/{host}/evict", method: "Evict", fields: ["pattern"],
    question: { visit, form in
      let host = try await visit.host()
      let running = Set(host.running.map(\.rawValue)).sorted().prefix(100)
      let known = running.map { name -> HTML in "<option value=\"\(name)\"></option>" }
      return Question(
        title: "Evict from \(host.name.rawValue)",
        text: """
          <p>Launches of the job on this host are asked to stop, as “evicted”: the current batch may finish, and \
          another \
          host goes on after its checkpoint. The job does not start here again, even after restarts, until the \
          eviction \
          is ended on this page.</p>
          """,
        fields: """
          <label>Identifier, or pattern such as com.example.*
          <input name="pattern" list="running-here" required maxlength="255" autocomplete="off" \
          value="\(try form.text("pattern") ?? (running.count == 1 ? running.first ?? "" : ""))"></label>
          <datalist id="running-here">\(known)</datalist>
          """, button: "Evict", isDangerous: true, back: Parts.link(of: host.name))
    },
    perform: { visit, form in
      let (host, pattern) = (try visit.call.host, try Call.pattern(try form.text("pattern") ?? ""))
      _ = try await visit.run { try await $0.setEvicted(pattern, from: [host], true) }
      return Outcome(
        text: "\(pattern) is kept away from \(host.rawValue).", page: Parts.link(of: host),
        undo: (
          "Let it run there again",
          Parts.link(of: pattern).appending("allow").with([("host", host.rawValue)])
        ))
    })

  // MARK: Forget

  private static let forget = Action(
    path: "/hosts/{host}/forget", method: "ForgetHost",
    question: { visit, _ in
      let host = try await visit.host()
      return Question(
        title: "Forget \(host.name.rawValue)",
        text: """
          <p>The host is listed no more. Its drain and its evictions end, its history goes, and its transfers fail. A \
          worker that comes back with this name is a new host. This cannot be taken back.</p>
          """, button: "Forget", isDangerous: true, back: Parts.link(of: host.name))
    },
    perform: { visit, _ in
      let host = try visit.call.host
      try await visit.run { try await $0.forgetHost(host) }
      return Outcome(text: "\(host.rawValue) is forgotten.", page: Link("hosts"))
    })
}

extension Visit {
  /// The host of the path.
  /// - Throws: an `HTTPFailure` with the status 404 if there is no such host.
  func host() async throws -> HostReport {
    let name = try call.host
    let page = try await run { try await $0.hosts(HostFilter(name: name), after: nil, limit: 1) }
    guard let host = page.hosts.first, host.name == name else {
      throw HTTPFailure(
        404, "notFound", "there is no host '\(name.rawValue.escapedForMessage)': the page of hosts lists them")
    }
    return host
  }
}
