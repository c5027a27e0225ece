package import BatonModel
package import Tracing

extension SpanLimits {
  /// The attributes by key, at most `limit`: equal spans are equal bytes, whatever order a dictionary has.
  /// - Parameter others: of other keys.
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

  /// Nil for a type that a later version of the API may add.
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

  /// The API makes this of an array of `Int`, too.
  private func convertibles(_ values: [any CustomStringConvertible & Sendable]) -> AttributeValue {
    if let numbers = values as? [Int], !numbers.isEmpty { return .ints(numbers.map { Int64($0) }) }
    return .strings(values.map { clipped("\($0)") })
  }
}

extension [Attribute] {
  /// Those of Baton's own spans come as they are to be sent: asking costs less than sorting.
  fileprivate var isInOrder: Bool { indices.dropFirst().allSatisfy { self[$0 - 1].key < self[$0].key } }
}

extension AttributeValue {
  /// For a tracer of others.
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
  /// As https://opentelemetry.io/docs/specs/semconv/exceptions/exceptions-spans has it. The type has no module before
  /// it: for a private one Swift would put an address there.
  init(exception error: any Error, _ type: String, _ attributes: SpanAttributes, at instant: some TracerInstant) {
    var attributes = attributes
    attributes.set(Names.Attribute.exceptionType, value: .string(type))
    attributes.set(Names.Attribute.exceptionMessage, value: .string(String(describing: error)))
    self.init(name: Names.Event.exception, at: instant, attributes: attributes)
  }
}

extension Timestamp {
  /// For a tracer of others.
  package var forTracing: DefaultTracerClock.Timestamp {
    DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: UInt64(clamping: nanoseconds))
  }
}
