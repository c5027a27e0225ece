internal import BatonModel

/// An OTLP `ExportTraceServiceRequest`: spans of one resource and of the instrumentation scope `baton`.
package struct TraceRequest: OTLPMessage {
  package var resource: Resource
  package var spans: [SpanRecord]
  /// The version of the instrumentation scope, which is Baton's version.
  package var version: String

  package init(resource: Resource, spans: [SpanRecord], version: String = BatonVersion.current) {
    (self.resource, self.spans, self.version) = (resource, spans, version)
  }
}

extension TraceRequest {
  package func write(to writer: inout ProtobufWriter) {
    // Baton's spans take 300 to 450 bytes each.
    writer.reserve(512 * (spans.count + 1))
    writer.message(1) {
      $0.message(1) { resource.write(to: &$0) }
      $0.message(2) {
        $0.message(1) {
          $0.field(1, unlessEmpty: Names.scope)
          $0.field(2, unlessEmpty: version)
        }
        $0.messages(2, spans)
      }
    }
  }
}

/// An OTLP `ExportTraceServiceResponse` or `ExportMetricsServiceResponse`, which have the same fields.
package struct ExportResponse: Hashable, Sendable {
  /// What the backend did not take of a request that it accepted.
  package struct PartialSuccess: Hashable, Sendable {
    package var rejected: Int64 = 0
    package var message = ""
  }

  /// What was not taken, or a warning; `nil` if the answer does not mention either.
  package var partialSuccess: PartialSuccess?

  /// Decodes a response. Unknown fields are skipped. If a field occurs twice, the last value is used, and nested
  /// messages are merged, as protobuf demands. Throws `ProtobufError` if the bytes are not protobuf.
  package init(protobuf bytes: [UInt8]) throws(ProtobufError) {
    var reader = ProtobufReader(bytes[...])
    while let (number, value) = try reader.next() {
      guard number == 1, case .lengthDelimited(let body) = value else { continue }
      var partial = partialSuccess ?? PartialSuccess()
      try partial.merge(body)
      partialSuccess = partial
    }
  }
}

extension ExportResponse.PartialSuccess {
  /// Merges the fields 1 (a number) and 2 (a text). `google.rpc.Status`, the body of a refusal, has the same two
  /// fields.
  mutating func merge(_ body: ArraySlice<UInt8>) throws(ProtobufError) {
    var reader = ProtobufReader(body)
    while let (number, value) = try reader.next() {
      switch (number, value) {
      case (1, .varint(let value)): rejected = Int64(bitPattern: value)
      case (2, .lengthDelimited(let bytes)): message = try reader.text(bytes)
      default: continue
      }
    }
  }
}
