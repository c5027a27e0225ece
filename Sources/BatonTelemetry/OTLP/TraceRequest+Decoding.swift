extension TraceRequest {
  /// Decodes what `protobuf` wrote; the result is equal to the original value. The bytes of other encoders are decoded
  /// too if a `TraceRequest` can hold their content: unknown fields are skipped, and if a field that is not repeated
  /// occurs twice, the last occurrence is used.
  ///
  /// For any input, decoding ends or throws `ProtobufError`. Messages are followed only as deep as OTLP nests them, so
  /// the input cannot cause deep recursion.
  package init(protobuf bytes: [UInt8], limits: DecodingLimits = DecodingLimits()) throws(ProtobufError) {
    guard bytes.count <= limits.bytes else { throw ProtobufError(code: .tooLarge, offset: limits.bytes) }
    self.init(resource: Resource([]), spans: [], version: "")
    try read(bytes[...], OTLPDecoder(limits: limits))
  }

  private mutating func read(_ body: ArraySlice<UInt8>, _ decoder: OTLPDecoder) throws(ProtobufError) {
    var reader = ProtobufReader(body)
    var resources = 0
    while let (number, value) = try reader.next() {
      guard number == 1 else { continue }
      resources += 1
      try readResourceSpans(reader.bytes(value), decoder)
    }
    guard resources == 1 else { throw reader.problem(.unsupported) }
  }

  private mutating func readResourceSpans(
    _ body: ArraySlice<UInt8>, _ decoder: OTLPDecoder
  ) throws(ProtobufError) {
    var reader = ProtobufReader(body)
    var scopes = 0
    while let (number, value) = try reader.next() {
      switch number {
      case 1: resource = try decoder.resource(reader.bytes(value))
      case 2:
        scopes += 1
        try readScopeSpans(reader.bytes(value), decoder)
      default: continue
      }
    }
    guard scopes == 1 else { throw reader.problem(.unsupported) }
  }

  private mutating func readScopeSpans(_ body: ArraySlice<UInt8>, _ decoder: OTLPDecoder) throws(ProtobufError) {
    var reader = ProtobufReader(body)
    var scope = ""
    while let (number, value) = try reader.next() {
      switch number {
      case 1: (scope, version) = try decoder.scope(reader.bytes(value))
      case 2:
        guard spans.count < decoder.limits.spans else { throw reader.problem(.tooLarge) }
        spans.append(try decoder.span(reader.bytes(value)))
      default: continue
      }
    }
    guard scope == Names.scope else { throw reader.problem(.unsupported) }
  }
}
