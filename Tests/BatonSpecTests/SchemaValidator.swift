/// A validator for JSON Schema draft-07 with the keywords of `Config/job.schema.json`. An unknown keyword is an error
/// and never ignored.
struct SchemaValidator {
  struct UnknownKeyword: Error {
    var keyword: String
  }

  let root: JSON

  func accepts(_ instance: JSON) throws -> Bool { try accepts(instance, root) }

  private func accepts(_ instance: JSON, _ schema: JSON) throws -> Bool {
    guard case .object(let keywords) = schema else { return schema == .boolean(true) }
    // In draft-07 other keywords beside a reference are ignored.
    if case .string(let reference)? = keywords["$ref"] { return try accepts(instance, definition(reference)) }
    for (keyword, argument) in keywords.sorted(by: { $0.key < $1.key }) {
      guard try holds(keyword, argument, of: instance, in: schema) else { return false }
    }
    return true
  }

  private func definition(_ reference: String) throws -> JSON {
    guard reference.hasPrefix("#/definitions/"),
      let schema = root["definitions"]?[String(reference.dropFirst("#/definitions/".count))]
    else { throw UnknownKeyword(keyword: reference) }
    return schema
  }

  private func holds(_ keyword: String, _ argument: JSON, of instance: JSON, in schema: JSON) throws -> Bool {
    switch keyword {
    case "$schema", "$id", "title", "description", "definitions", "then", "else": true
    case "allOf": try argument.elements.allSatisfy { try accepts(instance, $0) }
    case "anyOf": try argument.elements.contains { try accepts(instance, $0) }
    case "not": try !accepts(instance, argument)
    case "if": try accepts(instance, schema[accepts(instance, argument) ? "then" : "else"] ?? .boolean(true))
    case "enum": argument.elements.contains(instance)
    case "const": argument == instance
    case "type": (argument.text.map { [$0] } ?? argument.elements.compactMap(\.text)).contains(where: instance.isType)
    default: try holdsByType(keyword, argument, of: instance, in: schema)
    }
  }

  /// Checks a keyword that applies to instances of one type only.
  private func holdsByType(_ keyword: String, _ argument: JSON, of instance: JSON, in schema: JSON) throws -> Bool {
    switch keyword {
    case "pattern", "minLength", "maxLength": try holds(keyword, argument, of: instance.text)
    case "minimum": instance.value.map { $0 >= argument.value ?? 0 } ?? true
    case "maximum": instance.value.map { $0 <= argument.value ?? 0 } ?? true
    case "items", "minItems", "maxItems", "uniqueItems":
      if case .array(let elements) = instance { try holds(keyword, argument, of: elements) } else { true }
    case "properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties",
      "dependencies":
      if case .object(let members) = instance { try holds(keyword, argument, of: members, in: schema) } else { true }
    default: throw UnknownKeyword(keyword: keyword)
    }
  }

  private func holds(_ keyword: String, _ argument: JSON, of text: String?) throws -> Bool {
    guard let text else { return true }
    let limit = Int(argument.value ?? 0)
    return switch keyword {
    case "minLength": text.unicodeScalars.count >= limit
    case "maxLength": text.unicodeScalars.count <= limit
    default: try Regex(argument.text ?? "").matchingSemantics(.unicodeScalar).firstMatch(in: text) != nil
    }
  }

  private func holds(_ keyword: String, _ argument: JSON, of elements: [JSON]) throws -> Bool {
    switch (keyword, argument) {
    case ("minItems", _): elements.count >= Int(argument.value ?? 0)
    case ("maxItems", _): elements.count <= Int(argument.value ?? 0)
    case ("uniqueItems", _): Set(elements).count == elements.count
    case (_, .array(let schemas)): try zip(elements, schemas).allSatisfy { try accepts($0, $1) }
    default: try elements.allSatisfy { try accepts($0, argument) }
    }
  }

  private func holds(
    _ keyword: String, _ argument: JSON, of members: [String: JSON], in schema: JSON
  ) throws -> Bool {
    switch keyword {
    case "required": argument.elements.compactMap(\.text).allSatisfy { members[$0] != nil }
    case "minProperties": members.count >= Int(argument.value ?? 0)
    case "maxProperties": members.count <= Int(argument.value ?? 0)
    case "propertyNames": try members.keys.allSatisfy { try accepts(.string($0), argument) }
    case "properties": try members.allSatisfy { try accepts($1, argument[$0] ?? .boolean(true)) }
    case "additionalProperties":
      try members.filter { schema["properties"]?[$0.key] == nil }.allSatisfy { try accepts($1, argument) }
    default:
      members.keys.compactMap { argument[$0] }.flatMap(\.elements).compactMap(\.text).allSatisfy { members[$0] != nil }
    }
  }
}

extension JSON {
  fileprivate var text: String? { if case .string(let value) = self { value } else { nil } }
  fileprivate var value: Double? { if case .number(let value) = self { value } else { nil } }
  fileprivate var elements: [JSON] { if case .array(let values) = self { values } else { [] } }

  fileprivate func isType(_ name: String) -> Bool {
    switch self {
    case .null: name == "null"
    case .boolean: name == "boolean"
    case .number(let value): name == "number" || name == "integer" && value == value.rounded()
    case .string: name == "string"
    case .array: name == "array"
    case .object: name == "object"
    }
  }
}
