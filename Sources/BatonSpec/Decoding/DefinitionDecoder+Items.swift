import BatonModel

extension DefinitionDecoder {
  mutating func items(_ field: Field?) -> Items? {
    guard let field else { return nil }
    let example =
      switch field.value.content {
      case .sequence: "{list: [a, b, c]}"
      case .scalar(let scalar) where scalar.text.contains(".."): "{range: 1...6}"
      default: "{glob: \"**/*.jpg\"}"
      }
    guard let fields = mapping(field, .items, example: example) else { return nil }
    guard let (key, source) = onlySource(fields, of: field) else { return nil }
    switch key {
    case "glob": return path(source).map(Items.glob)
    case "lines": return path(source).map(Items.lines)
    case "range": return parsed(source, RangeText.examples, RangeText.parse).map(Items.range)
    default: return list(source).map(Items.list)
    }
  }

  /// The first source of items. If there is no source, or more than one, an error is reported.
  private mutating func onlySource(_ fields: Fields, of field: Field) -> (key: String, field: Field)? {
    guard let first = fields.inOrder.first else {
      if case .mapping(let entries) = field.value.content, entries.isEmpty {
        report.error("\(field.label) needs one of glob, lines, range or list", at: field.keyPosition)
      }
      return nil
    }
    for (key, other) in fields.inOrder.dropFirst() {
      report.error(
        "\(field.label) takes only one of glob, lines, range and list, not \(quoted(first.key)) and \(quoted(key))",
        at: other.keyPosition)
    }
    return first
  }

  private mutating func list(_ field: Field) -> [String]? {
    guard let nodes = list(field, "a list such as [a, b, c]") else { return nil }
    if nodes.isEmpty {
      report.error(
        "\(field.label) is empty; leave 'work.items' out for one batch without items", at: field.value.position)
    }
    return nodes.compactMap { node in
      let label = "a value of \(field.label)"
      let text = literal(node, label: label)
      if let text { refuseWildcard(in: text, label: label, at: node.position) }
      return text
    }
  }

  /// Reports items of a list that contain a line break, unless items are passed as arguments: on standard input and in
  /// a file, an item of two lines would arrive as two items.
  mutating func checkLineBreaks(in field: Field?, passedBy pass: ItemPassing) {
    guard pass != .arguments, let field, case .mapping(let entries) = field.value.content,
      let list = entries.first(where: { $0.key == "list" }), case .sequence(let nodes) = list.value.content
    else { return }
    for node in nodes {
      guard case .scalar(let scalar) = node.content, scalar.text.unicodeScalars.contains("\n") else { continue }
      report.error(
        "an item with a line break cannot be passed by \(pass.rawValue), which is one item a line; write 'pass: arguments'",
        at: node.position)
    }
  }

  /// Text that is a path. An empty path, a NUL character and `${wildcard}` are reported.
  mutating func path(_ field: Field) -> String? {
    guard let text = text(field) else { return nil }
    if text.isEmpty { report.error("\(field.label) is empty", at: field.value.position) }
    if text.unicodeScalars.contains("\0") {
      report.error("\(field.label) has a NUL character", at: field.value.position)
    }
    refuseWildcard(in: text, label: field.label, at: field.value.position)
    return text
  }

  mutating func refuseWildcard(in text: String, label: String, at position: Position) {
    guard text.contains("${wildcard}") else { return }
    report.error("\(label) cannot have ${wildcard}: it is replaced in 'work.command' only", at: position)
  }
}
