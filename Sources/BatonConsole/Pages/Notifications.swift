import BatonAPI
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel

extension Console {
  var notificationRoutes: [Route] {
    [page("/notifications", "Notifications", NotificationsPage.show)] + action(NotificationsPage.test)
  }
}

/// The page of what receivers are told: what waits for them, and what has failed for good.
enum NotificationsPage {
  /// The most rows of each table.
  private static let shown = 100

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let reports = try await visit.run { try await $0.notifications() }
    return Page(
      title: "Notifications", section: .notifications, topics: [.overview],
      main: """
        <h1>Notifications</h1>
        <p class="lead">What the receivers of coordinator.yaml are to be told, and have not taken. What they have taken is \
        not kept.</p>
        <section><h2>Failed for good</h2>\(failed(reports, visit.now))</section>
        <section><h2>Waiting</h2>\(waiting(reports, visit.now))</section>
        <section><h2>Receivers</h2>\(receivers(reports, visit))</section>
        """)
  }

  private static func failed(_ reports: NotificationReports, _ now: Timestamp) -> HTML {
    guard !reports.failed.isEmpty else { return "<p>None has failed.</p>" }
    let rows = reports.failed.prefix(shown).enumerated().map { index, report -> HTML in
      """
      <tr id="failed-\(index)"><td>\(report.receiver.rawValue)</td><td>\(what(report.facts))</td>\
      <td>\(time(report.facts.at, now))</td><td class="number">\(report.attempts)</td>\
      <td>\(report.failedAt.map { Parts.time(Timestamp(nanoseconds: $0), now) })</td>\
      <td>\(Parts.long(report.error ?? "", lines: 4))</td></tr>
      """
    }
    let columns = ["Receiver", "What", "Happened", "Attempts", "Given up", "Why"]
    return Parts.table("Notifications that have failed", columns, rows) + rest(reports.failedCount - rows.count)
  }

  private static func waiting(_ reports: NotificationReports, _ now: Timestamp) -> HTML {
    guard !reports.waiting.isEmpty else { return "<p>None waits.</p>" }
    let rows = reports.waiting.prefix(shown).enumerated().map { index, report -> HTML in
      """
      <tr id="waiting-\(index)"><td>\(report.receiver.rawValue)</td><td>\(what(report.facts))</td>\
      <td>\(time(report.facts.at, now))</td><td class="number">\(report.attempts)</td>\
      <td>\(report.nextAt.map { Parts.time(Timestamp(nanoseconds: $0), now) })</td>\
      <td>\(Parts.long(report.error ?? "", lines: 4))</td></tr>
      """
    }
    let columns = ["Receiver", "What", "Happened", "Attempts", "Next attempt", "Last error"]
    return Parts.table("Notifications that wait", columns, rows) + rest(reports.waitingCount - rows.count)
  }

  private static func rest(_ count: Int) -> HTML {
    count > 0 ? "<p class=\"quiet\">and \(Parts.number(count)) more</p>" : ""
  }

  /// What happened, with a link to the request.
  private static func what(_ facts: JobNotification) -> HTML {
    let reason: HTML = facts.reason.map { "<br><small>\($0.lastLine)</small>" } ?? ""
    guard let identifier = facts.identifier, let number = facts.request else { return "\(facts.subject)\(reason)" }
    return "<a href=\"\(Parts.link(of: identifier, number))\">\(facts.subject)</a>\(reason)"
  }

  private static func time(_ text: String, _ now: Timestamp) -> HTML {
    Timestamp(rfc3339: text).map { Parts.time($0, now) } ?? "\(text)"
  }

  private static func receivers(_ reports: NotificationReports, _ visit: Visit) -> HTML {
    guard !reports.receivers.isEmpty else {
      return Parts.empty("<p>There are no receivers: <code>receivers</code> in coordinator.yaml lists them.</p>")
    }
    let rows = reports.receivers.enumerated().map { index, receiver -> HTML in
      let link = Link("receivers", receiver.name.rawValue, "test")
      return """
        <tr id="receiver-\(index)"><th scope="row">\(receiver.name.rawValue)</th><td>\(receiver.kind.rawValue)</td>\
        <td>\(receiver.place)</td><td class="actions">\(visit.button("Send a test", link, "TestReceiver"))</td></tr>
        """
    }
    return Parts.table("Receivers", ["Receiver", "Kind", "Place", "Actions"], rows)
  }

  // MARK: Test

  static let test = Action(
    path: "/receivers/{receiver}/test", method: "TestReceiver",
    question: { visit, _ in
      let name = try visit.call.receiver
      return Question(
        title: "Send a test to \(name)",
        text: "<p>The receiver is told once that this is a test. It is not tried again.</p>", button: "Send a test",
        back: Link("notifications"))
    },
    perform: { visit, _ in
      let name = try visit.call.receiver
      let answer = try await visit.run { try await $0.testReceiver(name) }
      return Outcome(
        text: "\(name) has \(answer.isAccepted ? "taken" : "not taken") the test: \(answer.text)",
        page: Link("notifications"))
    })
}
