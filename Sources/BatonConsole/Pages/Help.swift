import BatonAPI
import HTTPTypes

extension Console {
  var helpRoutes: [Route] {
    [
      page("/reasons", "WhoAmI", ReasonsPage.show), page("/about", "WhoAmI", AboutPage.show),
      page("/help", "WhoAmI") { _ in KeysPage.page },
      Route(.get, "/search", .method("List"), query: ["q"]) { call in
        let visit = Visit(call: call, console: self)
        let text = (try call.query.text("q") ?? "").trimmed
        if let found = try await Search.find(text, visit) { return visit.seeOther(found) }
        return Answer(visit.document(Search.nothing(text)))
      },
    ]
  }
}

/// The page of keys.
enum KeysPage {
  private static let keys: [([String], String)] = [
    (["/"], "Search: an identifier, a request such as com.example.a#2, a host, a trace id"), (["?"], "This page"),
    (["g", "o"], "Overview"), (["g", "r"], "Requests"), (["g", "q"], "Queue"), (["g", "h"], "Hosts"),
    (["g", "d"], "Definitions"), (["g", "s"], "Schedules"), (["g", "n"], "Notifications"),
    (["g", "a"], "Activity"), (["j"], "The next row of a table"),
    (["k"], "The row before"), (["x"], "Select the row"), (["Enter"], "Open what has the focus"),
    (["p"], "Pause and resume the live page"), (["w"], "On a request: why does it not run?"),
    (["Esc"], "Close a question"),
  ]

  static let page = Page(
    title: "Keyboard",
    main: """
      <h1>Keyboard</h1>
      <p class="lead">Everything can be reached with the tab key. These keys are shorter; they need JavaScript, and do
      nothing while a field has the focus.</p>
      \(Parts.table("Keys", ["Key", "What it does"], rows))
      """)

  private static var rows: [HTML] {
    keys.map { keys, words in
      let pressed = keys.map { key -> HTML in "<kbd>\(key)</kbd>" }.joined(by: " then ")
      return "<tr><th scope=\"row\">\(pressed)</th><td>\(words)</td></tr>\n"
    }
  }
}
