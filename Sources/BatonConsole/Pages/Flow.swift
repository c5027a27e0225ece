import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

extension Console {
  var flowRoutes: [Route] { [page("/flows/{flow}", "List", FlowPage.show)] + action(FlowPage.cancel) }
}

/// The page of a flow: its members as a picture and in a table.
enum FlowPage {
  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let flow = try visit.call.flow
    let members = try await members(of: flow, visit)
    let isLive = members.contains { !$0.state.isEnded }
    let cancel = visit.button("Cancel the flow", link(of: flow).appending("cancel"), "Cancel", isDangerous: true)
    return Page(
      title: "Flow \(flow.rawValue)", section: .requests, topics: [.requests],
      main: """
        <div class="heading"><h1>Flow <span>\(Int(flow.rawValue))</span></h1>
        <p class="buttons">\(isLive ? cancel : "")</p></div>
        <p class="lead">\(counted(members.count, "request")), submitted together \
        \(members.first.map { Parts.time($0.submittedAt, visit.now) }): \(summary(members)).</p>
        \(FlowPicture(members).html)
        \(table(members, visit))
        <p>The same in a terminal: <code>baton list --flow \(Int(flow.rawValue))</code></p>
        """)
  }

  static func link(of flow: RequestID) -> Link { Link("flows", "\(flow.rawValue)") }

  /// The members of a flow that the person may see.
  private static func members(of flow: RequestID, _ visit: Visit) async throws -> [RequestRecord] {
    let members = try await visit.run {
      try await $0.requests(RequestFilter(flow: flow), after: nil, limit: FlowPlan.largest)
    }
    guard !members.isEmpty else {
      throw HTTPFailure(404, "notFound", "there is no flow \(flow.rawValue), or its requests are not kept any more")
    }
    return members
  }

  /// How many members are in which state.
  private static func summary(_ members: [RequestRecord]) -> String {
    RequestState.allCases.compactMap { state in
      let count = members.count { $0.state == state }
      return count == 0 ? nil : "\(count) \(state.rawValue)"
    }.joined(separator: ", ")
  }

  static func table(_ members: [RequestRecord], _ visit: Visit) -> HTML {
    let rows = members.map { member -> HTML in
      """
      <tr id="m\(member.id.rawValue)"><td>\(Parts.request(member.identifier, member.number))\
      \(!member.titles.isEmpty, "<br><small>\(member.titles)</small>")</td>\
      <td>\(Parts.state(member.state))</td><td>\(FlowWords.list(member))</td>\
      <td>\(member.state.isEnded ? (member.reason ?? "").lastLine : "")</td>\
      <td>\(member.host.map { Parts.host($0) })</td><td>\(RequestParts.progress(member))</td></tr>
      """
    }
    return Parts.table(
      "Requests of the flow", ["Request", "State", "Starts after", "Reason", "Host", "Progress"], rows)
  }

  /// The flow of a request, on its page.
  static func section(_ details: RequestDetails, _ visit: Visit) -> HTML {
    guard let flow = details.record.flow, !details.flow.isEmpty else { return "" }
    return """
      <section><h2>Flow <a href="\(link(of: flow))">\(Int(flow.rawValue))</a></h2>
      \(FlowPicture(details.flow, current: details.record.id).html)
      <details id="flow-members"><summary>The same as a table</summary>\(table(details.flow, visit))</details></section>
      """
  }

  // MARK: Cancel

  static let cancel = Action(
    path: "/flows/{flow}/cancel", method: "Cancel",
    question: { visit, _ in
      let flow = try visit.call.flow
      let live = try await members(of: flow, visit).filter { !$0.state.isEnded }
      let running = live.count { $0.state == .running }
      let rows = live.map { member -> HTML in
        "<li>\(Parts.request(member.identifier, member.number)) \(Parts.state(member.state))</li>"
      }
      return Question(
        title: "Cancel the flow \(flow.rawValue)",
        text: live.isEmpty
          ? "<p>All its requests have ended already: nothing will change.</p>"
          : """
          <p>\(counted(live.count, "request")) of it, \(running) of them running, end for good, all of them or none. What \
          runs may finish its batch within its closing window.</p><ul class="items">\(rows)</ul>
          """, button: "Cancel the flow", count: live.count, isDangerous: true, back: link(of: flow))
    },
    perform: { visit, _ in
      let flow = try visit.call.flow
      let done = try await visit.run { try await $0.cancel(.flow(flow), by: visit.principal) }
      return Outcome(
        text: done.isEmpty
          ? "All requests of the flow \(flow.rawValue) had ended before." : "The flow \(flow.rawValue) is cancelled.",
        page: link(of: flow))
    })
}
