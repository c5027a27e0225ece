import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// Pieces that the pages of requests have.
enum RequestParts {
  /// How far a request is, as a bar and in words.
  static func progress(_ record: RequestRecord) -> HTML {
    let words = record.unitsText + (record.percent.map { ", \($0) %" } ?? "")
    guard let fraction = record.fraction else { return record.doneUnits > 0 ? "\(words)" : "" }
    return "\(Parts.bar(fraction, words)) \(words)"
  }

  /// The pages of one request.
  static func tabs(_ record: RequestRecord, _ here: String) -> HTML {
    let link = Parts.link(of: record.identifier, record.number)
    let tabs = [("Request", "", ""), ("Why", "why", "w"), ("Trace", "trace", "")].map { title, part, key -> HTML in
      let isHere: HTML = part == here ? " aria-current=\"page\"" : ""
      return """
        <li><a href="\(part.isEmpty ? link : link.appending(part))"\(isHere)\(!key.isEmpty, " data-key=\"w\"")>\
        \(title)</a></li>
        """
    }
    return "<nav class=\"tabs\" aria-label=\"Pages of this request\"><ul>\(tabs)</ul></nav>"
  }

  static func heading(_ record: RequestRecord, _ here: String, buttons: [HTML] = []) -> HTML {
    """
    <div class="heading"><h1>\(record.identifier.rawValue) <span>#\(record.number)</span> \(Parts.state(record.state))</h1>
    <p class="buttons">\(buttons)</p></div>
    \(tabs(record, here))
    """
  }

  /// The topics of a page about a request.
  static func topics(_ record: RequestRecord) -> [ChangeTopic] { [.request(record.identifier)] }

  /// How a launch ended, as a word in its colour.
  static func outcome(_ launch: LaunchRecord) -> HTML {
    let word = launch.outcome?.rawValue ?? (launch.endedAt == nil ? "running" : "ended")
    return "<span class=\"state \(word)\">\(word)</span>"
  }
}
