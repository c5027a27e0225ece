/// The value of an attribute: one of OpenTelemetry's simple types, or an array of values of one simple type. Source:
/// https://opentelemetry.io/docs/specs/otel/common/#attribute.
package enum AttributeValue: OTLPMessage {
  case string(String)
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case strings([String])
  case bools([Bool])
  case ints([Int64])
  case doubles([Double])

  /// The elements of an array as single values; `nil` if the value is not an array.
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

/// An attribute: a key and its value. Keys must be unique within one list of attributes; otherwise the backend chooses
/// which of the values it keeps.
package struct Attribute: OTLPMessage {
  package var key: String
  package var value: AttributeValue

  package init(_ key: String, _ value: AttributeValue) { (self.key, self.value) = (key, value) }
}
