import BatonModel

/// Fields of forms, and the links between the pages of a list.
enum Fields {
  /// A choice of one of several words.
  /// - Parameters:
  ///   - choices: what the form sends, and what people read.
  ///   - none: what people read for no choice; `nil` if there has to be one.
  static func select(
    _ label: String, _ name: String, _ choices: [(String, String)], _ chosen: String? = nil, none: String? = nil
  ) -> HTML {
    let options = (none.map { [("", $0)] } ?? []) + choices
    let list = options.map { value, words -> HTML in
      value == chosen ?? ""
        ? "<option value=\"\(value)\" selected>\(words)</option>" : "<option value=\"\(value)\">\(words)</option>"
    }
    return "<label>\(label) <select name=\"\(name)\">\(list)</select></label>"
  }

  /// Links to the first and to the next page of a list.
  /// - Parameters:
  ///   - next: `nil` on the last page.
  ///   - what: what the list has, such as "hosts".
  static func pages(first: Link? = nil, next: Link?, _ what: String, _ words: String = "Next page") -> HTML {
    guard first != nil || next != nil else { return "" }
    let back: HTML = first.map { "<a class=\"button\" href=\"\($0)\">First page</a> " } ?? ""
    let forth: HTML = next.map { "<a class=\"button\" href=\"\($0)\" rel=\"next\">\(words)</a>" } ?? ""
    return "<nav class=\"pages\" aria-label=\"Pages of \(what)\">\(back)\(forth)</nav>"
  }
}
