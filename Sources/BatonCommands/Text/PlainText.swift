import BatonModel

extension String {
  /// How many columns of a terminal the text takes.
  var columns: Int { reduce(0) { $0 + $1.columns } }

  /// How many columns of a terminal a text with Baton's colours takes: the control sequences of the colours take
  /// no column.
  var visibleColumns: Int {
    guard contains("\u{1B}") else { return columns }
    return replacing(/\u{1B}\[[0-9;]*m/, with: "").columns
  }

  /// The text, cut to at most `width` columns. If something was cut off, the last character is an ellipsis.
  func cut(to width: Int) -> String {
    guard columns > width else { return self }
    var kept = ""
    var used = 1
    for character in self {
      used += character.columns
      guard used <= width else { break }
      kept.append(character)
    }
    return width > 0 ? kept + "…" : ""
  }

  /// The text, padded with spaces to `width` columns.
  /// - Parameter trailing: whether the text stands at the end, after the spaces.
  func padded(to width: Int, trailing: Bool = false) -> String {
    let spaces = String(repeating: " ", count: max(0, width - columns))
    return trailing ? spaces + self : self + spaces
  }
}

extension Character {
  /// How many columns of a terminal the character takes: two for East Asian wide characters and emoji (Unicode Standard
  /// Annex 11), one for all others.
  fileprivate var columns: Int {
    guard let value = unicodeScalars.first?.value, value >= 0x1100 else { return 1 }
    switch value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
      0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}
