internal import BatonModel

/// Decodes the messages within a `TraceRequest`. The field numbers are those of opentelemetry-proto 1.3.2, as in
/// `SpanRecord+Protobuf.swift`.
struct OTLPDecoder {
  let limits: DecodingLimits

  func resource(_ body: ArraySlice<UInt8>) throws(ProtobufError) -> Resource {
    var reader = ProtobufReader(body)
    var attributes: [Attribute] = []
    while let (number, value) = try reader.next() {
      if number == 1 { try append(attribute(reader.bytes(value)), to: &attributes, limits.attributes, reader) }
    }
    return Resource(attributes)
  }

  func scope(_ body: ArraySlice<UInt8>) throws(ProtobufError) -> (name: String, version: String) {
    var reader = ProtobufReader(body)
    var scope = (name: "", version: "")
    while let (number, value) = try reader.next() {
      switch number {
      case 1: scope.name = try reader.text(value)
      case 2: scope.version = try reader.text(value)
      default: continue
      }
    }
    return scope
  }

  // MARK: Spans

  func span(_ body: ArraySlice<UInt8>) throws(ProtobufError) -> SpanRecord {
    var reader = ProtobufReader(body)
    var (trace, id, kind) = (TraceID?.none, SpanID?.none, SpanKind?.none)
    // Trace id, span id and kind are required in a span. They are replaced at the end by the values that were read.
    var span = SpanRecord(
      trace: TraceID(high: 0, low: 0), id: SpanID(0), name: "", kind: .internal, start: Timestamp(nanoseconds: 0),
      end: Timestamp(nanoseconds: 0), flags: [])
    while let (number, value) = try reader.next() {
      switch number {
      case 1: trace = try reader.trace(value)
      case 2: id = try reader.span(value)
      case 6: kind = SpanKind(rawValue: try reader.varint(value))
      default: try set(number, value, of: &span, reader)
      }
    }
    guard let trace, let id, let kind else { throw reader.problem(.notAllowed) }
    (span.trace, span.id, span.kind) = (trace, id, kind)
    return span
  }

  private func set(
    _ number: UInt64, _ value: ProtobufReader.Value, of span: inout SpanRecord, _ reader: ProtobufReader
  ) throws(ProtobufError) {
    switch number {
    case 3: span.traceState = try reader.text(value)
    case 4: span.parent = try reader.span(value)
    case 5: span.name = try reader.text(value)
    case 7: span.start = try reader.time(value)
    case 8: span.end = try reader.time(value)
    case 9: try append(attribute(reader.bytes(value)), to: &span.attributes, limits.attributes, reader)
    case 11: try append(event(reader.bytes(value)), to: &span.events, limits.events, reader)
    case 13: try append(link(reader.bytes(value)), to: &span.links, limits.links, reader)
    case 15: span.status = try status(reader.bytes(value))
    case 16: span.flags = SpanFlags(rawValue: try reader.fixed32(value))
    default: return
    }
  }

  private func event(_ body: ArraySlice<UInt8>) throws(ProtobufError) -> SpanEvent {
    var reader = ProtobufReader(body)
    var event = SpanEvent(time: Timestamp(nanoseconds: 0), name: "")
    while let (number, value) = try reader.next() {
      switch number {
      case 1: event.time = try reader.time(value)
      case 2: event.name = try reader.text(value)
      case 3: try append(attribute(reader.bytes(value)), to: &event.attributes, limits.attributes, reader)
      default: continue
      }
    }
    return event
  }

  private func link(_ body: ArraySlice<UInt8>) throws(ProtobufError) -> SpanLink {
    var reader = ProtobufReader(body)
    var (trace, span) = (TraceID?.none, SpanID?.none)
    var link = SpanLink(trace: TraceID(high: 0, low: 0), span: SpanID(0))
    while let (number, value) = try reader.next() {
      switch number {
      case 1: trace = try reader.trace(value)
      case 2: span = try reader.span(value)
      case 3: link.traceState = try reader.text(value)
      case 4: try append(attribute(reader.bytes(value)), to: &link.attributes, limits.attributes, reader)
      case 6: link.flags = SpanFlags(rawValue: try reader.fixed32(value))
      default: continue
      }
    }
    guard let trace, let span else { throw reader.problem(.notAllowed) }
    (link.trace, link.span) = (trace, span)
    return link
  }

  /// Decodes a span's status. The message is used only if the status is an error:
  /// https://opentelemetry.io/docs/specs/otel/trace/api/#set-status.
  private func status(_ body: ArraySlice<UInt8>) throws(ProtobufError) -> SpanStatus {
    var reader = ProtobufReader(body)
    var (message, code) = ("", UInt64(0))
    while let (number, value) = try reader.next() {
      switch number {
      case 2: message = try reader.text(value)
      case 3: code = try reader.varint(value)
      default: continue
      }
    }
    switch code {
    case 0: return .unset
    case 1: return .ok
    case 2: return .error(message)
    default: throw reader.problem(.notAllowed)
    }
  }

  // MARK: Attributes

  private func attribute(_ body: ArraySlice<UInt8>) throws(ProtobufError) -> Attribute {
    var reader = ProtobufReader(body)
    var (key, found) = ("", AttributeValue?.none)
    while let (number, value) = try reader.next() {
      switch number {
      case 1: key = try reader.text(value)
      case 2: found = try self.value(reader.bytes(value))
      default: continue
      }
    }
    guard let found else { throw reader.problem(.unsupported) }
    return Attribute(key, found)
  }

  /// Decodes the value of an attribute.
  ///
  /// - Parameter isElement: whether the value is an element of an array. Arrays cannot contain arrays, so the decoding
  ///   cannot recurse any deeper.
  private func value(_ body: ArraySlice<UInt8>, isElement: Bool = false) throws(ProtobufError) -> AttributeValue {
    var reader = ProtobufReader(body)
    var found: AttributeValue?
    while let (number, value) = try reader.next() {
      switch number {
      case 1: found = .string(try reader.text(value))
      case 2: found = .bool(try reader.varint(value) != 0)
      case 3: found = .int(Int64(bitPattern: try reader.varint(value)))
      case 4: found = .double(Double(bitPattern: try reader.fixed64(value)))
      case 5 where !isElement: found = try list(reader.bytes(value))
      case 5, 6, 7: throw reader.problem(.unsupported)
      default: continue
      }
    }
    guard let found else { throw reader.problem(.unsupported) }
    return found
  }

  private func list(_ body: ArraySlice<UInt8>) throws(ProtobufError) -> AttributeValue {
    var reader = ProtobufReader(body)
    var elements: [AttributeValue] = []
    while let (number, value) = try reader.next() {
      guard number == 1 else { continue }
      try append(self.value(reader.bytes(value), isElement: true), to: &elements, limits.attributes, reader)
    }
    guard let list = AttributeValue(elements: elements) else { throw reader.problem(.unsupported) }
    return list
  }

  private func append<Element>(
    _ element: Element, to list: inout [Element], _ limit: Int, _ reader: ProtobufReader
  ) throws(ProtobufError) {
    guard list.count < limit else { throw reader.problem(.tooLarge) }
    list.append(element)
  }
}

extension AttributeValue {
  /// Creates an array value from its elements; `nil` unless all elements are of one simple type. An empty array has no
  /// type on the wire and becomes an array of strings.
  fileprivate init?(elements: [AttributeValue]) {
    switch elements.first {
    case nil: self = .strings([])
    case .string: self = .strings(elements.compactMap { if case .string(let value) = $0 { value } else { nil } })
    case .bool: self = .bools(elements.compactMap { if case .bool(let value) = $0 { value } else { nil } })
    case .int: self = .ints(elements.compactMap { if case .int(let value) = $0 { value } else { nil } })
    case .double: self = .doubles(elements.compactMap { if case .double(let value) = $0 { value } else { nil } })
    case .strings, .bools, .ints, .doubles: return nil
    }
    guard self.elements?.count == elements.count else { return nil }
  }
}

/// The value of a field as a given type. Each function throws `ProtobufError` with the code `.notAllowed` if the field
/// has another wire type or a value that OTLP does not allow.
extension ProtobufReader {
  func bytes(_ value: Value) throws(ProtobufError) -> ArraySlice<UInt8> {
    guard case .lengthDelimited(let bytes) = value else { throw problem(.notAllowed) }
    return bytes
  }

  func text(_ value: Value) throws(ProtobufError) -> String { try text(bytes(value)) }

  func varint(_ value: Value) throws(ProtobufError) -> UInt64 {
    guard case .varint(let number) = value else { throw problem(.notAllowed) }
    return number
  }

  func fixed64(_ value: Value) throws(ProtobufError) -> UInt64 {
    guard case .fixed64(let number) = value else { throw problem(.notAllowed) }
    return number
  }

  func fixed32(_ value: Value) throws(ProtobufError) -> UInt32 {
    guard case .fixed32(let number) = value else { throw problem(.notAllowed) }
    return number
  }

  func time(_ value: Value) throws(ProtobufError) -> Timestamp {
    guard let nanoseconds = Int64(exactly: try fixed64(value)) else { throw problem(.notAllowed) }
    return Timestamp(nanoseconds: nanoseconds)
  }

  func trace(_ value: Value) throws(ProtobufError) -> TraceID {
    guard let id = TraceID(bytes: Array(try bytes(value))), id.isValid else { throw problem(.notAllowed) }
    return id
  }

  func span(_ value: Value) throws(ProtobufError) -> SpanID {
    guard let id = SpanID(bytes: Array(try bytes(value))), id.isValid else { throw problem(.notAllowed) }
    return id
  }
}
