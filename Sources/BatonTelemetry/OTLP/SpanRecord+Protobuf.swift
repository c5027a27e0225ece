internal import BatonModel

// Field numbers: opentelemetry/proto/common/v1/common.proto and trace/v1/trace.proto, version 1.3.2.

extension ProtobufWriter {
  /// Writes a repeated field of messages.
  mutating func messages(_ number: Int, _ values: [some OTLPMessage]) {
    // The loop uses indices because copying each message would cost as much as writing it.
    for place in values.indices { message(number) { values[place].write(to: &$0) } }
  }
}

extension AttributeValue {
  package func write(to writer: inout ProtobufWriter) {
    switch self {
    case .string(let value): writer.member(1, string: value)
    case .bool(let value): writer.member(2, varint: value ? 1 : 0)
    case .int(let value): writer.member(3, varint: UInt64(bitPattern: value))
    case .double(let value): writer.member(4, fixed64: value.bitPattern)
    case .strings, .bools, .ints, .doubles:
      writer.message(5) { $0.messages(1, elements ?? []) }
    }
  }
}

extension Attribute {
  package func write(to writer: inout ProtobufWriter) {
    writer.field(1, unlessEmpty: key)
    writer.message(2) { value.write(to: &$0) }
  }
}

extension Resource {
  package func write(to writer: inout ProtobufWriter) { writer.messages(1, attributes) }
}

extension SpanRecord {
  package func write(to writer: inout ProtobufWriter) {
    writer.member(1, bigEndian: trace.high, trace.low)
    writer.member(2, bigEndian: id.number)
    writer.field(3, unlessEmpty: traceState)
    if let parent { writer.member(4, bigEndian: parent.number) }
    writer.field(5, unlessEmpty: name)
    writer.field(6, unlessZero: kind.rawValue)
    writer.field(7, unlessZeroFixed64: start.sinceEpoch)
    writer.field(8, unlessZeroFixed64: end.sinceEpoch)
    writer.messages(9, attributes)
    writer.messages(11, events)
    writer.messages(13, links)
    if case .unset = status {} else { writer.messages(15, [status]) }
    writer.field(16, unlessZeroFixed32: flags.rawValue)
  }
}

extension SpanEvent {
  package func write(to writer: inout ProtobufWriter) {
    writer.field(1, unlessZeroFixed64: time.sinceEpoch)
    writer.field(2, unlessEmpty: name)
    writer.messages(3, attributes)
  }
}

extension SpanLink {
  package func write(to writer: inout ProtobufWriter) {
    writer.member(1, bigEndian: trace.high, trace.low)
    writer.member(2, bigEndian: span.number)
    writer.field(3, unlessEmpty: traceState)
    writer.messages(4, attributes)
    writer.field(6, unlessZeroFixed32: flags.rawValue)
  }
}

extension SpanStatus {
  package func write(to writer: inout ProtobufWriter) {
    writer.field(2, unlessEmpty: message)
    writer.field(3, unlessZero: code)
  }
}

extension Timestamp {
  /// The time as OTLP writes it. OTLP has no time before 1970; earlier times become 0, which means "unknown".
  var sinceEpoch: UInt64 { UInt64(max(0, nanoseconds)) }
}
