import BatonJSON
import BatonModel

/// One row of a waterfall: what happened, when, for how long, and how it ended.
struct WaterfallRow: Hashable, Sendable {
  /// A section of the row's bar.
  struct Mark: Hashable, Sendable {
    var time: Interval
    var glyph: Glyph
  }

  /// The character that fills a section of a bar. Each kind of time has its own, so that they can be told apart
  /// without colour.
  enum Glyph: Character, Hashable, Sendable, CaseIterable {
    case scheduled = "·"
    case waiting = "░"
    case obstacle = "─"
    case running = "█"
    case expiring = "▓"
    case moment = "│"

    /// The word for the legend; `nil` if the legend leaves it out.
    var meaning: String? {
      switch self {
      case .scheduled: "scheduled"
      case .waiting: "waiting"
      case .obstacle: "obstacle"
      case .running: "running"
      case .expiring: "asked to stop"
      case .moment: nil
      }
    }
  }

  var name: String
  /// How many ancestors the row has.
  var depth = 0
  /// The sections of the bar in order of time. A section without a duration is a moment.
  var marks: [Mark]
  /// Whether the span is still open: then the bar ends in an arrow.
  var isOpen = false
  /// `nil` for a moment.
  var duration: Duration?
  /// How the span ended, and where. The last words are left out if there is not enough room.
  var words: [String] = []
  /// Text that needs whole lines below the row, such as an error.
  var note: String?
  var colour: Style.Colour?

  /// All words as one text.
  var text: String { words.joined(separator: ", ").onOneLine }

  /// As many of the words as fit into `columns` columns. If not even the first word fits, it is cut.
  func text(within columns: Int) -> String {
    var kept = words
    while kept.count > 1, kept.joined(separator: ", ").onOneLine.columns > columns { kept.removeLast() }
    return kept.joined(separator: ", ").onOneLine.cut(to: columns)
  }

  var start: Timestamp? { marks.first?.time.from }
  var end: Timestamp? { marks.map(\.time.to).max() }
}
