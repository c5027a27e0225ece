import BatonModel
import BatonStore
import Testing

@testable import BatonConsole

/// The page of reasons, and the search.
@Suite("Console: reasons and search") struct ConsoleReasonsTests {
  private let page = BatonConsole.ReasonsPage.page.main.text

  private var anchors: [String] { page.matches(of: /id="([^"]*)"/).map { String($0.output.1) } }

  @Test func `every code has an anchor, and each anchor stands once`() {
    #expect(Set(anchors).count == anchors.count)
    let codes =
      Obstacle.Kind.allCases.map(\.rawValue) + ExpiryReason.Kind.allCases.map(\.rawValue)
      + LaunchOutcome.Kind.allCases.map(\.rawValue) + Refusal.Kind.allCases.map(\.rawValue)
      + RequestEvent.allCases.map(\.rawValue)
    for code in codes { #expect(anchors.contains(code), "\(code)") }
  }

  @Test func `links of the page lead to its anchors`() {
    for link in page.matches(of: /href="\/reasons#([^"]*)"/) { #expect(anchors.contains(String(link.output.1))) }
  }

  @Test func `texts show code and emphasis, and no mark of Markdown is left`() {
    #expect(Markdown.inline("a `b<c` *d* e").text == "a <code>b&lt;c</code> <em>d</em> e")
    #expect(Markdown.inline("2 * 3").text == "2 * 3")
    #expect(Markdown.inline("what the `*` matched").text == "what the <code>*</code> matched")
    #expect(Markdown.remedy("wait, or: baton start IDENTIFIER").text == "wait, or: <code>baton start IDENTIFIER</code>")
    #expect(Markdown.remedy("raise 'maxRunning'").text == "raise <code>maxRunning</code>")
    #expect(!page.contains("`") && !page.contains("{"))
  }

  @Test(arguments: [
    ("com.example.a#2", "com.example.a 2"), ("com.example.a #12 ", "com.example.a 12"), ("com.example.a", nil),
    ("com.example.a#0", nil), ("#1", nil), ("a#b", nil), ("a#1#2", nil), ("a#99999999999", nil),
  ]) func `a request is found by its name`(text: String, found: String?) {
    #expect(Search.request(text).map { "\($0.0) \($0.1)" } == found)
  }

  @Test func `a trace has 32 hexadecimal digits`() {
    #expect(Search.trace("4BF92F3577B34DA6A3CE929D0E0E4736") == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(Search.trace("4bf92f3577b34da6a3ce929d0e0e473") == nil)
    #expect(Search.trace("zbf92f3577b34da6a3ce929d0e0e4736") == nil)
  }

  @Test(arguments: [
    ("com.example.report", "/requests/com.example.report"),
    ("com.example.report%233", "/requests/com.example.report/3"),
    ("alpha", "/hosts/alpha"), ("", "/requests"), ("com.example.", nil), ("%3Cb%3E", nil),
  ]) func `the search leads to what has the name`(text: String, place: String?) async {
    let world = ConsoleWorld([RequestRecord.example(1, "com.example.report", number: 1, .ready)]) {
      $0.hosts = [.alpha, .beta]
    }
    await world.signIn()
    let told = await world.ask("GET /search?q=\(text)")
    #expect(told.location == place && told.status == (place == nil ? 200 : 303))
    if place == nil { #expect(told.text.contains("Nothing found")) }
  }
}
