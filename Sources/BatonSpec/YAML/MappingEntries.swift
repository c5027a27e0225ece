/// Collects the entries of a mapping, each key once.
struct MappingEntries {
  private(set) var entries: [Node.Entry] = []
  private var places: [String: Position] = [:]

  /// Adds a pair. If its key is not text, or was given before, it reports an error and adds nothing.
  mutating func add(_ key: Node, _ value: Node, _ report: inout Report) {
    guard let name = name(of: key, &report) else { return }
    if let first = places[name] {
      report.error(
        "key \(quoted(name)) is given twice; the first is at line \(first.line), column \(first.column)",
        at: key.position)
      return
    }
    places[name] = key.position
    entries.append(Node.Entry(key: name, keyPosition: key.position, value: value))
  }

  private func name(of key: Node, _ report: inout Report) -> String? {
    switch key.content {
    case .scalar(let scalar) where scalar.isPlain && scalar.text.isEmpty:
      report.error("a key is missing before this ':'", at: key.position)
    case .scalar(let scalar) where scalar.isPlain && scalar.text == "<<":
      report.error(
        "merge keys ('<<') are not supported; repeat the keys, or use an alias for each value", at: key.position)
    case .scalar(let scalar): return scalar.text
    case .sequence, .mapping:
      report.error("a key must be text, not \(key.summary)", at: key.position)
    case .refused: break
    }
    return nil
  }
}
