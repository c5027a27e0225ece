/// Expands braces in a glob: `{a,b}` stands for each of its options, in order. Braces nest. A `\` removes the special
/// meaning of the next character. Braces without a comma or without an end stand for themselves.
enum Braces {
  /// Returns all texts that `text` stands for. Throws `CommandError` if there are more than `limit`.
  static func expand(_ text: String, limit: Int) throws -> [String] {
    guard let choice = Choice(in: Array(text)) else { return [text] }
    var texts: [String] = []
    for option in choice.options {
      texts += try expand(String(choice.before + option + choice.after), limit: limit)
      if texts.count > limit {
        throw CommandError(
          .badItems, "the braces in the glob '\(text)' expand to more than \(limit) patterns: use fewer")
      }
    }
    return texts
  }

  /// The first pair of braces in a text that contains a comma.
  private struct Choice {
    var before: [Character]
    var options: [[Character]]
    var after: [Character]

    init?(in text: [Character]) {
      for start in text.indices where text[start] == "{" && !Self.isEscaped(start, in: text) {
        guard let (options, end) = Self.options(in: text, from: start), options.count > 1 else { continue }
        self.init(before: Array(text[..<start]), options: options, after: Array(text[(end + 1)...]))
        return
      }
      return nil
    }

    private init(before: [Character], options: [[Character]], after: [Character]) {
      (self.before, self.options, self.after) = (before, options, after)
    }

    private static func isEscaped(_ index: Int, in text: [Character]) -> Bool {
      !text[..<index].reversed().prefix { $0 == "\\" }.count.isMultiple(of: 2)
    }

    private static func options(in text: [Character], from start: Int) -> (options: [[Character]], end: Int)? {
      var options: [[Character]] = []
      var (depth, optionStart) = (0, start + 1)
      for index in start..<text.count where !isEscaped(index, in: text) {
        switch text[index] {
        case "{": depth += 1
        case "}" where depth == 1:
          options.append(Array(text[optionStart..<index]))
          return (options, index)
        case "}": depth -= 1
        case "," where depth == 1:
          options.append(Array(text[optionStart..<index]))
          optionStart = index + 1
        default: break
        }
      }
      return nil
    }
  }
}
