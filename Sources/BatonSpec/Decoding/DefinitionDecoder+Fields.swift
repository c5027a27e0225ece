extension DefinitionDecoder {
  /// The fields of a mapping whose keys `level` knows. Unknown keys are reported.
  /// - Parameter position: the place at which a missing key of this mapping is reported.
  mutating func fields(_ entries: [Node.Entry], _ level: Level, missingAt position: Position) -> Fields {
    var fields = Fields(level: level, position: position)
    for entry in entries {
      guard level.keys.contains(entry.key) else {
        let keys = "; \(level == .definition ? "a job" : "'\(level.rawValue)'") has "
        let advice = level.advice(for: entry.key, listsKeys: !listedLevels.contains(level))
        if advice.hasPrefix(keys) { listedLevels.insert(level) }
        report.error("unknown key \(quoted(entry.key))\(advice)", at: entry.keyPosition)
        continue
      }
      let field = Field(
        label: "'\(level.path(of: entry.key))'", keyPosition: entry.keyPosition, value: entry.value)
      fields.inOrder.append((entry.key, field))
    }
    return fields
  }

  mutating func mapping(_ field: Field, _ level: Level, example: String) -> Fields? {
    guard case .mapping(let entries) = field.value.content else {
      return refused(field, "a mapping such as \(example)")
    }
    return fields(entries, level, missingAt: field.keyPosition)
  }

  mutating func list(_ field: Field, _ expected: String, hint: String = "") -> [Node]? {
    guard case .sequence(let nodes) = field.value.content else { return refused(field, expected, hint: hint) }
    return nodes
  }

  mutating func required(_ key: String, in fields: Fields) -> Field? {
    if let field = fields[key] { return field }
    let example = key == "kind" ? "; write kind: \(Self.exampleOfKind)" : ""
    report.error("key '\(fields.level.path(of: key))' is missing\(example)", at: fields.position)
    return nil
  }
}
