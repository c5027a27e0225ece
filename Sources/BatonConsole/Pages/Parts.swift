import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// Pieces that several pages have.
enum Parts {
  // MARK: Links

  static func link(of identifier: JobIdentifier, _ number: Int) -> Link {
    Link("requests", identifier.rawValue, "\(number)")
  }

  static func link(of host: HostName) -> Link { Link("hosts", host.rawValue) }

  static func link(of pattern: IdentifierPattern) -> Link { Link("definitions", pattern.rawValue) }

  static func request(_ identifier: JobIdentifier, _ number: Int) -> HTML {
    """
    <a class="name" href="\(link(of: identifier, number))">\(name(identifier.rawValue)) <span>#\(number)</span></a>
    """
  }

  static func host(_ host: HostName) -> HTML { "<a class=\"name\" href=\"\(link(of: host))\">\(host.rawValue)</a>" }

  static func definition(_ pattern: IdentifierPattern) -> HTML {
    "<a class=\"name\" href=\"\(link(of: pattern))\">\(name(pattern.rawValue))</a>"
  }

  /// An identifier or a pattern, which is broken only behind its dots where it is too long for its line.
  static func name(_ text: String) -> HTML {
    text.split(separator: ".", omittingEmptySubsequences: false).map { "\(String($0))" as HTML }.joined(by: ".<wbr>")
  }

  /// The code of an obstacle or of another reason, which the page of reasons explains.
  static func reason(_ code: String) -> HTML {
    "<a class=\"code\" href=\"\(Link("reasons", anchor: code))\">\(code)</a>"
  }

  // MARK: Words

  /// The state of a request as a word in its colour.
  static func state(_ state: RequestState) -> HTML {
    "<span class=\"state \(state.rawValue)\">\(state.rawValue)</span>"
  }

  static func state(_ state: HostReport.State) -> HTML {
    "<span class=\"state \(state.rawValue)\">\(state.rawValue)</span>"
  }

  /// A time of the past or of the future, in words, which count on by themselves in a browser.
  static func time(_ time: Timestamp, _ now: Timestamp) -> HTML {
    "<time datetime=\"\(time.rfc3339)\" title=\"\(time.rfc3339)\" data-ago>\(time.relative(to: now))</time>"
  }

  /// How long ago something began.
  static func age(since time: Timestamp, _ now: Timestamp) -> HTML {
    "<time datetime=\"\(time.rfc3339)\" title=\"\(time.rfc3339)\" data-ago=\"age\">\((now - time).magnitude.inWords)</time>"
  }

  /// A number with its thousands apart.
  static func number(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "\u{202F}" }
      text.append(digit)
    }
    return (number < 0 ? "-" : "") + text
  }

  /// A text that may be long: its first 2,000 characters of each line, and at most so many lines.
  static func long(_ text: String, lines: Int = 200) -> HTML {
    let all = text.split(separator: "\n", omittingEmptySubsequences: false)
    let cut = all.prefix(lines).map { line in
      line.count > 2_000 ? "\(line.prefix(2_000))… (\(line.count - 2_000) characters more)" : String(line)
    }
    let rest = all.count > lines ? "\n… (\(all.count - lines) lines more)" : ""
    return "\(cut.joined(separator: "\n") + rest)"
  }

  // MARK: Pictures and tables

  /// How many requests there are in each state, as large numbers.
  /// - Parameter link: the list of the requests in a state.
  static func cards(_ counts: [RequestState: Int], _ link: (RequestState) -> Link) -> HTML {
    let cards = RequestState.allCases.map { state -> HTML in
      let count = counts[state] ?? 0
      return """
        <li class="card\(count == 0, " none")"><a href="\(link(state))"><strong>\(number(count))</strong> \
        \(self.state(state))</a></li>
        """
    }
    return "<ul class=\"cards\">\(cards)</ul>"
  }

  /// A bar that is filled to a part.
  /// - Parameters:
  ///   - part: 0 to 1.
  ///   - words: the same in words.
  static func bar(_ part: Double, _ words: String, width: Double = 120) -> HTML {
    let filled = max(0, min(1, part)) * width
    return """
      <svg class="bar" width="\(width)" height="10" viewBox="0 0 \(width) 10" role="img" aria-label="\(words)">\
      <rect class="all" width="\(width)" height="10" rx="3"/><rect class="part" width="\(filled)" height="10" rx="3"/></svg>
      """
  }

  /// A table that can be scrolled to the side where it is wider than the page.
  /// The cells of numbers have the class `number`; the heads of their columns follow them.
  static func table(_ caption: String, _ columns: [String], _ rows: [HTML]) -> HTML {
    let heads = columns.map { name -> HTML in "<th scope=\"col\">\(name)</th>" }
    return """
      <div class="wide" tabindex="0" role="region" aria-label="\(caption)"><table>
      <caption class="hidden">\(caption)</caption>
      <thead><tr>\(heads)</tr></thead>
      <tbody>\(rows)</tbody>
      </table></div>
      """
  }

  /// What a page says where it has nothing to show: why, and the command that changes it.
  static func empty(_ text: HTML) -> HTML { "<div class=\"empty\">\(text)</div>" }

  /// A command that a person can copy.
  static func command(_ text: String) -> HTML { "<pre class=\"command\"><code>\(text)</code></pre>" }

  /// Names and values, one under the other.
  static func facts(_ facts: [(String, HTML)]) -> HTML {
    let rows = facts.filter { !$0.1.isEmpty }.map { name, value -> HTML in
      "<div><dt>\(name)</dt><dd>\(value)</dd></div>"
    }
    return "<dl class=\"facts\">\(rows)</dl>"
  }

  static func checkbox(_ name: String, _ label: String) -> HTML {
    "<label class=\"check\"><input type=\"checkbox\" name=\"\(name)\" value=\"true\"> \(label)</label>"
  }

  static func hidden(_ name: String, _ value: String) -> HTML {
    "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
  }
}
