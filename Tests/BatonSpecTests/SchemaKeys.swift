extension JSON {
  /// All keys that the schema knows, such as `work.items.glob`.
  var keysByPath: Set<String> { Set(described.map(\.path)) }

  /// The keys without a description.
  var undescribed: [String] { described.filter { $0.schema["description"] == nil }.map(\.path).sorted() }

  private var described: [(path: String, schema: JSON)] { properties(of: self, under: "") }

  private func properties(of schema: JSON, under prefix: String) -> [(path: String, schema: JSON)] {
    let schema = resolved(schema)
    // A mapping whose keys are names that the author chooses.
    let named = schema["additionalProperties"].map { properties(of: $0, under: "\(prefix)NAME.") } ?? []
    // The mappings of a list, if no other key has the same ones.
    let listed = schema["items"].map { $0["$ref"] == nil ? properties(of: $0, under: prefix) : [] } ?? []
    guard case .object(let members)? = schema["properties"] else { return named + listed }
    return named + listed
      + members.flatMap { key, value in
        [(prefix + key, value)] + properties(of: value, under: "\(prefix)\(key).")
      }
  }

  private func resolved(_ schema: JSON) -> JSON {
    guard case .string(let reference)? = schema["$ref"], let name = reference.split(separator: "/").last else {
      return schema
    }
    return self["definitions"]?[String(name)] ?? schema
  }
}
