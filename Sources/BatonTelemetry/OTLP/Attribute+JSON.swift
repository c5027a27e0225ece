extension Attribute {
  /// Writes the members of an OTLP `KeyValue`: `{"key": …, "value": {"stringValue": …}}`.
  static func write(_ attribute: Attribute, to json: inout JSONWriter) {
    json.field("key", unlessEmpty: attribute.key)
    json.field("value") { write(attribute.value, to: &$0) }
  }

  private static func write(_ value: AttributeValue, to json: inout JSONWriter) {
    switch value {
    case .string(let value): json.member("stringValue", JSONWriter.quoted(value))
    case .bool(let value): json.member("boolValue", value ? "true" : "false")
    case .int(let value): json.member("intValue", "\"\(value)\"")
    case .double(let value): json.member("doubleValue", JSONWriter.number(value))
    case .strings, .bools, .ints, .doubles:
      json.field("arrayValue") { $0.array("values", value.elements ?? []) { write($0, to: &$1) } }
    }
  }
}
