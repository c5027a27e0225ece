package import BatonModel
package import Tracing

extension SpanLimits {
  /// Merges and limits attributes for a finished span, event or link. The result is sorted by key, independent of the
  /// order in a dictionary, so that equal spans are encoded to equal bytes. Only the first `limit` attributes in this
  /// order are kept.
  /// - Parameter others: further attributes, with keys that are not in `attributes`.
  func attributes(
    _ attributes: SpanAttributes, and others: [Attribute] = [], atMost limit: Int
  ) -> [Attribute] {
    var result = others.contains(where: isTooLong) ? others.map(clipped) : others
    if attributes.isEmpty, result.count <= limit, result.isInOrder { return result }
    func add(_ key: String, _ value: SpanAttribute) {
      if !key.isEmpty, let value = self.value(value) { result.append(Attribute(clipped(key), value)) }
    }
    attributes.forEach(add)
    result.sort { $0.key < $1.key }
    return result.count > limit ? Array(result.prefix(limit)) : result
  }

  private func isTooLong(_ attribute: Attribute) -> Bool {
    if case .string(let text) = attribute.value { text.utf8.count > valueLength } else { false }
  }

  private func clipped(_ attribute: Attribute) -> Attribute {
    guard case .string(let text) = attribute.value else { return attribute }
    return Attribute(attribute.key, .string(clipped(text)))
  }

  /// The value for OTLP; `nil` for a type that a later version of the tracing API may add.
  private func value(_ value: SpanAttribute) -> AttributeValue? {
    switch value {
    case .string(let value): .string(clipped(value))
    case .int32(let value): .int(Int64(value))
    case .int64(let value): .int(value)
    case .double(let value): .double(value)
    case .bool(let value): .bool(value)
    case .stringConvertible(let value): .string(clipped("\(value)"))
    default: array(value)
    }
  }

  private func array(_ value: SpanAttribute) -> AttributeValue? {
    switch value {
    case .stringArray(let values): .strings(values.prefix(elements).map(clipped))
    case .int32Array(let values): .ints(values.prefix(elements).map { Int64($0) })
    case .int64Array(let values): .ints(Array(values.prefix(elements)))
    case .doubleArray(let values): .doubles(Array(values.prefix(elements)))
    case .boolArray(let values): .bools(Array(values.prefix(elements)))
    case .stringConvertibleArray(let values): convertibles(Array(values.prefix(elements)))
    default: nil
    }
  }

  /// Converts an array of values that are known only by their description. The tracing API produces this case for an
  /// array of `Int`, too; it becomes an array of integers.
  private func convertibles(_ values: [any CustomStringConvertible & Sendable]) -> AttributeValue {
    if let numbers = values as? [Int], !numbers.isEmpty { return .ints(numbers.map { Int64($0) }) }
    return .strings(values.map { clipped("\($0)") })
  }
}

extension [Attribute] {
  /// Whether the attributes are sorted by key. Baton sorts the attributes of its own spans beforehand, and checking the
  /// order costs less than sorting again.
  fileprivate var isInOrder: Bool { indices.dropFirst().allSatisfy { self[$0 - 1].key < self[$0].key } }
}

extension AttributeValue {
  /// The value for a tracer other than Baton's.
  var forTracing: SpanAttribute {
    switch self {
    case .string(let value): .string(value)
    case .bool(let value): .bool(value)
    case .int(let value): .int64(value)
    case .double(let value): .double(value)
    case .strings(let values): .stringArray(values)
    case .bools(let values): .boolArray(values)
    case .ints(let values): .int64Array(values)
    case .doubles(let values): .doubleArray(values)
    }
  }
}

extension SpanKind {
  init(_ kind: Tracing.SpanKind) {
    switch kind {
    case .server: self = .server
    case .client: self = .client
    case .producer: self = .producer
    case .consumer: self = .consumer
    case .internal: self = .internal
    }
  }
}

extension SpanLink {
  init(to context: SpanContext, _ attributes: SpanAttributes, within limits: SpanLimits) {
    let flags = context.flagsOfChild
    self.init(
      trace: context.trace, span: context.span, traceState: context.traceState,
      attributes: limits.attributes(attributes, atMost: limits.attributesPerLink),
      flags: context.isSampled ? flags.union(.sampled) : flags)
  }
}

extension Tracing.SpanEvent {
  /// Creates the event for a recorded error, as https://opentelemetry.io/docs/specs/semconv/exceptions/exceptions-spans
  /// defines it. The name of the error's type has no module prefix: for a private type, Swift would include an address
  /// in the prefix.
  init(exception error: any Error, _ type: String, _ attributes: SpanAttributes, at instant: some TracerInstant) {
    var attributes = attributes
    attributes.set(Names.Attribute.exceptionType, value: .string(type))
    attributes.set(Names.Attribute.exceptionMessage, value: .string(String(describing: error)))
    self.init(name: Names.Event.exception, at: instant, attributes: attributes)
  }
}

extension Timestamp {
  /// The time for a tracer other than Baton's.
  package var forTracing: DefaultTracerClock.Timestamp {
    DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: UInt64(clamping: nanoseconds))
  }
}
