import ContractRows
import Testing

@testable import BatonConsole

/// What becomes of text in the console's pages.
@Suite("Console: HTML") struct HTMLTests {
  private static let texts: [(text: String, html: String)] = [
    ("plain", "plain"),
    ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("\" onload='x' &amp;", "&quot; onload=&#39;x&#39; &amp;amp;"),
    // What acts on a terminal is left out.
    ("\u{1B}[31mred\u{1B}[0m", "red"), ("\u{1B}]0;title\u{07}after", "after"), ("\u{1B}]8;;x\u{1B}\\link", "link"),
    ("a\0b\u{08}c\u{9B}d\re", "abcde"), ("two\nlines\tand", "two\nlines\tand"),
    // What changes the direction of the text around it is shown.
    ("\u{202E}gnp.exe", "U+202Egnp.exe"), ("\u{2066}x\u{2069}", "U+2066xU+2069"), ("\u{200F}", "U+200F"),
    // Other letters stay.
    ("Größe 世界 🙂", "Größe 世界 🙂"), ("\u{FFFF}", "\u{FFFD}"), ("\u{1B}", ""), ("\u{1B}[", ""),
  ]

  @Test(.refuses(44), arguments: texts) func `a text stays a text`(_ one: (text: String, html: String)) {
    let html: HTML = "<p title=\"\(one.text)\">\(one.text)</p>"
    #expect(html.text == "<p title=\"\(one.html)\">\(one.html)</p>")
  }

  @Test func `markup is put together of markup`() {
    let name = "a&b"
    let item: HTML = "<li>\(name)</li>"
    let none: HTML? = nil
    let list: HTML = "<ul>\([item, item])\(none)\(true, "<li>x</li>")\(false, "<li>y</li>")</ul>\(3)\(2.25)"
    #expect(list.text == "<ul><li>a&amp;b</li><li>a&amp;b</li><li>x</li></ul>32.3")
    #expect([item, "<hr>", item].joined(by: "|").text == "<li>a&amp;b</li>|<hr>|<li>a&amp;b</li>")
  }

  @Test func `the parts of an address are encoded`() {
    #expect(Link("hosts", "a/b?c#d e\"").text == "/hosts/a%2Fb%3Fc%23d%20e%22")
    #expect(Link("hosts", "..").appending("ä").text == "/hosts/../%C3%A4")
    #expect(Link("x", query: [("a", "1&2"), ("b", nil)]).with([("c", "ü")]).text == "/x?a=1%262&c=%C3%BC")
    #expect(Link().text == "/" && Link("reasons", anchor: "a b").text == "/reasons#a%20b")
    let html: HTML = "<a href=\"\(Link("a", query: [("b", "1"), ("c", "2")]))\">"
    #expect(html.text == "<a href=\"/a?b=1&amp;c=2\">")
  }
}
