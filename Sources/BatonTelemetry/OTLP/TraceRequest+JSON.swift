internal import BatonModel

// The JSON encoding of OTLP (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): names in
// lowerCamelCase, ids in hexadecimal, enums as integers, and, as in every JSON encoding of protobuf, 64-bit integers as
// strings. Fields at their default value are left out.

extension TraceRequest {
  /// The request as OTLP JSON on one line, for files and the console.
  package var json: String {
    var writer = JSONWriter()
    writer.object {
      $0.array("resourceSpans", [self]) { request, json in
        json.field("resource") { $0.array("attributes", request.resource.attributes, Attribute.write) }
        json.array("scopeSpans", [request]) { request, json in
          json.field("scope") {
            $0.field("name", unlessEmpty: Names.scope)
            $0.field("version", unlessEmpty: request.version)
          }
          json.array("spans", request.spans, Self.span)
        }
      }
    }
    return writer.text
  }

  private static func span(_ span: SpanRecord, to json: inout JSONWriter) {
    json.field("traceId", unlessEmpty: span.trace.description)
    json.field("spanId", unlessEmpty: span.id.description)
    json.field("traceState", unlessEmpty: span.traceState)
    json.field("parentSpanId", unlessEmpty: span.parent?.description ?? "")
    json.field("name", unlessEmpty: span.name)
    json.field("kind", unlessZero: span.kind.rawValue)
    json.field("startTimeUnixNano", unlessZero64: span.start.sinceEpoch)
    json.field("endTimeUnixNano", unlessZero64: span.end.sinceEpoch)
    json.array("attributes", span.attributes, Attribute.write)
    json.array("events", span.events, event)
    json.array("links", span.links, link)
    status(span.status, to: &json)
    json.field("flags", unlessZero: UInt64(span.flags.rawValue))
  }

  private static func status(_ status: SpanStatus, to json: inout JSONWriter) {
    guard status.code != 0 else { return }
    json.field("status") {
      $0.field("message", unlessEmpty: status.message)
      $0.field("code", unlessZero: status.code)
    }
  }

  private static func event(_ event: SpanEvent, to json: inout JSONWriter) {
    json.field("timeUnixNano", unlessZero64: event.time.sinceEpoch)
    json.field("name", unlessEmpty: event.name)
    json.array("attributes", event.attributes, Attribute.write)
  }

  private static func link(_ link: SpanLink, to json: inout JSONWriter) {
    json.field("traceId", unlessEmpty: link.trace.description)
    json.field("spanId", unlessEmpty: link.span.description)
    json.field("traceState", unlessEmpty: link.traceState)
    json.array("attributes", link.attributes, Attribute.write)
    json.field("flags", unlessZero: UInt64(link.flags.rawValue))
  }
}
