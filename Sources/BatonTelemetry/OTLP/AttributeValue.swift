/// What an attribute may be: OpenTelemetry's types, arrays of one type included.
/// Source: https://opentelemetry.io/docs/specs/otel/common/#attribute.
package enum AttributeValue: OTLPMessage {
  case string(String)
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case strings([String])
  case bools([Bool])
  case ints([Int64])
  case doubles([Double])

  /// The elements of an array, nil for a single value.
  var elements: [AttributeValue]? {
    switch self {
    case .string, .bool, .int, .double: nil
    case .strings(let values): values.map { .string($0) }
    case .bools(let values): values.map { .bool($0) }
    case .ints(let values): values.map { .int($0) }
    case .doubles(let values): values.map { .double($0) }
    }
  }
}

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int64) { self = .int(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
}

/// A named value. The keys of one list are different from each other, or the backend picks one of them.
package struct Attribute: OTLPMessage {
  package var key: String
  package var value: AttributeValue

  package init(_ key: String, _ value: AttributeValue) { (self.key, self.value) = (key, value) }
}
