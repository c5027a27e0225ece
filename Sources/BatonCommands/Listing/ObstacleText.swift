import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// The text of one obstacle in a few short lines: what it is, which source reports it, when it ends, and what to do.
struct ObstacleText {
  /// The label that stands in the place of a code, before the last report of a host that is gone.
  static let lastReport = "last report"

  let now: Timestamp
  private let explanation: Explanation
  private let style: Style
  private let width: Int
  /// The width of the widest code or label, so that the texts of all sections begin in the same column.
  private let codeColumns: Int

  init(_ explanation: Explanation, style: Style, width: Int, now: Timestamp) {
    self.now = now
    self.style = style
    self.width = width
    self.explanation = explanation
    codeColumns = (explanation.lines.map(\.code) + [Self.lastReport]).map(\.columns).max() ?? 0
  }

  func lines(_ line: Explanation.Line) -> [String] {
    block(line.code, line.text, line.isPermanent ? .red : nil)
      + (line.sourceText(at: now).map { block("", $0) } ?? [])
      + (line.endingText(at: now).map { block("", $0) } ?? [])
      + block("", "remedy: \(explanation.named(line.remedy, line.host))")
  }

  /// Lines of the form `  code   text`, with the text wrapped below itself.
  func block(_ code: String, _ text: String, _ colour: Style.Colour? = nil) -> [String] {
    let indentation = 2 + codeColumns + 2
    return text.onOneLine.wrapped(to: max(20, width - indentation)).enumerated().map { index, part in
      "  \((index == 0 ? code : "").onOneLine.padded(to: codeColumns))  " + style.paint(part, colour)
    }
  }
}

extension String {
  /// The text in lines of at most `columns` columns, broken between words. A longer word has a line of its own. Colours
  /// take no column.
  func wrapped(to columns: Int) -> [String] {
    var lines: [String] = []
    for word in split(separator: " ") {
      if let last = lines.last, last.visibleColumns + 1 + String(word).visibleColumns <= columns {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
