import BatonAPI
import BatonCoordinator
import BatonModel
import BatonStore

extension Console {
  var queueRoutes: [Route] { [page("/queue", "Queue", QueuePage.show)] }
}

/// The page of what waits for a host, in the order in which it starts.
enum QueuePage {
  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let queue = try await visit.run { try await $0.queue() }
    let main =
      queue.classes.isEmpty
      ? Parts.empty(
        """
        <p>Nothing waits for a host. A request that has been submitted stands here until a host takes it:</p>
        \(Parts.command("baton submit IDENTIFIER"))
        """) : table(queue, visit.now)
    return Page(
      title: "Queue", section: .queue, topics: [.requests, .hosts],
      main: """
        <h1>Queue</h1>
        <p class="lead">Requests of one definition and one priority start one after the other, and stand in one line \
        here.
        The first line goes first where a host can take requests of several lines.</p>
        \(main)
        """)
  }

  private static func table(_ queue: QueueReport, _ now: Timestamp) -> HTML {
    // A page with many lines says less of each.
    let most = queue.classes.count > 40 ? 2 : QueuedClass.mostNext
    let rows = queue.classes.enumerated().map { index, one -> HTML in
      """
      <tr id="class-\(index)"><td class="number">\(index + 1)</td><th scope="row">\(Parts.definition(one.pattern))</th>\
      <td>\(priority(one))</td><td class="number">\(ready(one))</td>\
      <td>\(one.oldest.map { Parts.age(since: $0, now) } ?? "–")</td><td>\(obstacle(one))</td>\
      <td>\(next(one, most: most))</td></tr>
      """
    }
    let more: HTML =
      queue.moreClasses > 0
      ? "<p class=\"quiet\">and \(counted(queue.moreClasses, "more line")) behind these</p>" : ""
    return Parts.table(
      "What waits for a host, in the order of its starts",
      ["Place", "Definition", "Priority", "Ready", "The oldest waits", "What keeps the first one", "Next requests"],
      rows) + more
  }

  private static func priority(_ one: QueueReport.Class) -> HTML {
    let counts: HTML = one.countsAs.map { "<br><small>has waited long, counts as \($0.name)</small>" } ?? ""
    let earlier: HTML = one.keepsEarlier ? "<br><small>keeps an earlier definition</small>" : ""
    let use: HTML = one.hasRecentUse ? "<br><small>used lately, goes before others</small>" : ""
    return "\(one.priority.name)\(counts)\(use)\(earlier)"
  }

  private static func ready(_ one: QueueReport.Class) -> HTML {
    let words =
      one.ready > Verbs.countLimit ? "more than \(Parts.number(Verbs.countLimit))" : Parts.number(one.ready)
    let link = Link("requests", query: [("state", "ready"), ("id", one.pattern.rawValue)])
    return "<a href=\"\(link)\">\(words)</a>"
  }

  private static func obstacle(_ one: QueueReport.Class) -> HTML {
    guard let obstacle = one.obstacle else { return "nothing: some host can take it" }
    let hosts: HTML = one.obstacleHosts.map { " on \(counted($0, "host"))" } ?? ""
    let why: HTML = one.next.first.map { " <a href=\"\(link(of: $0).appending("why"))\">Why?</a>" } ?? ""
    return "\(Parts.reason(obstacle))\(hosts)\(why)"
  }

  private static func next(_ one: QueueReport.Class, most: Int) -> HTML {
    let items = one.next.prefix(most).map { next -> HTML in
      let shard: HTML = next.shard > 0 ? ", shard \(next.shard)" : ""
      return "<li>\(Parts.request(next.identifier, next.number))\(shard)</li>"
    }
    return items.isEmpty ? "–" : "<ol class=\"plain\">\(items)</ol>"
  }

  private static func link(of next: QueuedClass.Next) -> Link { Parts.link(of: next.identifier, next.number) }
}
