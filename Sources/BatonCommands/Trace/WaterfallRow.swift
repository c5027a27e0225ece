import BatonModel

/// One row of a waterfall: what, when, for how long, and how it went.
struct WaterfallRow: Hashable, Sendable {
  /// A piece of the row's bar.
  struct Mark: Hashable, Sendable {
    var time: Interval
    var glyph: Glyph
  }

  /// What fills a bar: kinds of time can be told apart without colour.
  enum Glyph: Character, Hashable, Sendable, CaseIterable {
    case scheduled = "·"
    case waiting = "░"
    case obstacle = "─"
    case running = "█"
    case expiring = "▓"
    case moment = "│"

    /// For the legend; nil for what needs no word.
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
  /// Under how many other rows it stands.
  var depth = 0
  /// In order of time; one that takes no time is a moment.
  var marks: [Mark]
  /// It goes on: its bar ends in an arrow.
  var isOpen = false
  /// Nil for a moment.
  var duration: Duration?
  /// How it went, and where; the last ones are left out where there is no room.
  var words: [String] = []
  /// What needs whole lines, below the row.
  var note: String?
  var colour: Style.Colour?

  /// All words that there are.
  var text: String { words.joined(separator: ", ").onOneLine }

  /// As many of the words as `columns` hold; of the first at least what fits.
  func text(within columns: Int) -> String {
    var kept = words
    while kept.count > 1, kept.joined(separator: ", ").onOneLine.columns > columns { kept.removeLast() }
    return kept.joined(separator: ", ").onOneLine.cut(to: columns)
  }

  var start: Timestamp? { marks.first?.time.from }
  var end: Timestamp? { marks.map(\.time.to).max() }
}
