import BatonModel

extension DefinitionDecoder {
  /// Reports keys that belong to other kinds only, and keys that this kind needs and that are missing.
  mutating func check(_ fields: Fields, against kind: JobKind) {
    for (key, kinds) in Self.keysOfKinds where !kinds.contains(kind) {
      guard let field = fields[key] else { continue }
      let names = kinds.map(\.rawValue).joined(separator: " and ")
      report.error(
        "\(field.label) belongs to \(kinds.count > 1 ? "kinds" : "kind") \(names), not \(kind.rawValue); remove it",
        at: field.keyPosition)
    }
    if kind == .continued, fields["title"] == nil {
      report.error("key 'title' is missing; kind continued needs it, because a person watches", at: fields.position)
    }
    if kind == .continued, let field = fields["earliestBeginDate"] {
      report.warning("'earliestBeginDate' is ignored: kind continued starts at once", at: field.keyPosition)
    }
  }

  /// Keys that belong to some kinds only. `repeat` and `schedule` are not for continued jobs: they ignore their
  /// earliest begin date, so a repeating one would never pause.
  private static let keysOfKinds: [(key: String, kinds: [JobKind])] = [
    ("strategy", [.continued]), ("allowFrequent", [.refresh]), ("repeat", [.refresh, .processing]),
    ("schedule", [.refresh, .processing]),
  ]

  /// Reports keys that make sense only for the other form of pattern: `repeat` for a wildcard, `maxRunning` for a
  /// single identifier.
  mutating func check(_ fields: Fields, against pattern: IdentifierPattern) {
    for key in ["repeat", "schedule"] {
      guard pattern.isWildcard, let field = fields[key] else { continue }
      report.error(
        "'\(key)' needs an identifier without '*': a wildcard names many jobs, none of which can be submitted by itself",
        at: field.keyPosition)
    }
    if !pattern.isWildcard, let field = fields["maxRunning"] {
      report.error(
        "'maxRunning' belongs to a wildcard such as com.example.export.*: at most one request of "
          + "\(quoted(pattern.rawValue)) is live anyway; remove it", at: field.keyPosition)
    }
  }
}
