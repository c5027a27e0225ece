/// Paints text with the colours of a terminal, or leaves it as it is.
struct Style: Hashable, Sendable {
  var isColoured: Bool

  static let plain = Style(isColoured: false)

  enum Colour: Int, Hashable, Sendable {
    case red = 31
    case green = 32
    case yellow = 33
    case cyan = 36
    case grey = 90
  }

  func red(_ text: String) -> String { paint(text, .red) }
  func yellow(_ text: String) -> String { paint(text, .yellow) }
  func bold(_ text: String) -> String { isColoured ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

  func paint(_ text: String, _ colour: Colour?) -> String {
    guard isColoured, let colour else { return text }
    return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
  }
}
