import BatonModel
import BatonTelemetry
import Testing

/// Encoded requests can be decoded again, and all other bytes are refused.
@Suite struct DecodingTests {
  @Test func `a request that has everything is the same after it was read`() throws {
    let read = try TraceRequest(protobuf: GoldenTests.rich.protobuf)
    #expect(read == GoldenTests.rich)
    #expect(read.protobuf == GoldenTests.rich.protobuf)
    #expect(read.spans.first?.attributes.map(\.key) == GoldenTests.attributes.map(\.key))
    #expect(read.spans.first?.status == .error("disk full"))
    #expect(read.spans.first?.parent == SpanID(hex: "eee19b7ec3c1b173"))
    #expect(read.spans.last?.end == .distantFuture)
  }

  @Test func `an empty request is read`() throws {
    let request = TraceRequest(resource: Resource([]), spans: [], version: "")
    #expect(try TraceRequest(protobuf: request.protobuf) == request)
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func `any request is the same after it was read`(seed: UInt64) throws {
    var drawing = SpanDrawing(seed: seed)
    for _ in 0..<100 {
      let request = drawing.request()
      let read = try TraceRequest(protobuf: request.protobuf)
      #expect(read.protobuf == request.protobuf)
    }
  }

  @Test(arguments: [4, 5, 6] as [UInt64])
  func `damaged bytes are read as another request or refused, and never end the process`(seed: UInt64) throws {
    var drawing = SpanDrawing(seed: seed)
    var outcomes = (read: 0, refused: 0)
    for _ in 0..<1_000 {
      let bytes = drawing.damage(drawing.request().protobuf)
      guard let read = try? TraceRequest(protobuf: bytes) else {
        outcomes.refused += 1
        continue
      }
      outcomes.read += 1
      #expect(try TraceRequest(protobuf: read.protobuf) == read, "seed \(seed): \(bytes.hexadecimal)")
    }
    #expect(outcomes.read > 30 && outcomes.refused > 300)
  }

  @Test(arguments: [7, 8] as [UInt64]) func `decoding ends for any bytes`(seed: UInt64) {
    var drawing = SpanDrawing(seed: seed)
    for _ in 0..<8_000 {
      let count = Int.random(in: 0..<40, using: &drawing)
      _ = try? TraceRequest(protobuf: (0..<count).map { _ in .random(in: 0...255, using: &drawing) })
    }
  }

  /// A request with one span whose fields are `hex` after its ids and its kind.
  static func bytes(spanWith hex: String, required: String = required) -> [UInt8] {
    bytes(scopeSpans: "0a070a056261746f6e" + field("12", required + hex))
  }

  static let ids = "0a105b8efff798038103d269b633813fc60c1208eee19b7ec3c1b174"
  static let required = ids + "3001"

  static func bytes(scopeSpans hex: String) -> [UInt8] {
    [UInt8](hexadecimal: field("0a", "0a00" + field("12", hex)))!
  }

  /// A nested message of up to 16,383 bytes.
  static func field(_ tag: String, _ body: String) -> String {
    let count = body.utf8.count / 2
    let length = count > 127 ? [UInt8(count & 0x7f | 0x80), UInt8(count >> 7)] : [UInt8(count)]
    return tag + length.hexadecimal + body
  }

  @Test(
    arguments: [
      ("", required), ("50ac02", required), ("2a0161", required), ("4a0512030a0178", required), ("6000", required),
      ("7a00", required), ("7a021801", required), ("7a051201781801", required), ("2a01612a0162", required),
      ("70ffffffffffffffffff01", required), ("f2ff0101ff", required),
    ])
  func `fields that are not known are skipped`(hex: String, required: String) throws {
    #expect(try TraceRequest(protobuf: Self.bytes(spanWith: hex, required: required)).spans.count == 1)
  }

  @Test func `of a field that comes twice the last one counts`() throws {
    let span = try TraceRequest(protobuf: Self.bytes(spanWith: "2a01612a0162")).spans[0]
    #expect(span.name == "b")
    let value = try TraceRequest(protobuf: Self.bytes(spanWith: "4a0a0a016b12050a01781801")).spans[0].attributes
    #expect(value == [Attribute("k", 1)])
  }

  @Test(
    arguments: [
      // Ids: missing, too short, zero.
      ("", "", .notAllowed), ("", ids, .notAllowed), ("", "12080000000000000001" + "3001", .notAllowed),
      ("0a01ff", required, .notAllowed), ("0a1000000000000000000000000000000000", required, .notAllowed),
      ("12080000000000000000", required, .notAllowed), ("2207ffffffffffffff", required, .notAllowed),
      ("22080000000000000000", required, .notAllowed), ("2200", required, .notAllowed),
      // A kind, a status and a time that do not exist; a field of another type.
      ("3000", required, .notAllowed), ("3006", required, .notAllowed), ("7a021803", required, .notAllowed),
      ("390000000000000080", required, .notAllowed), ("2801", required, .notAllowed), ("3801", required, .notAllowed),
      ("800101", required, .notAllowed), ("4801", required, .notAllowed),
      // A link without its ids.
      ("6a00", required, .notAllowed),
      // Values: none, a map, raw bytes, a list in a list, a list of two types.
      ("4a00", required, .unsupported), ("4a030a016b", required, .unsupported), ("4a021200", required, .unsupported),
      ("4a0412023200", required, .unsupported), ("4a0412023a00", required, .unsupported),
      ("4a0812062a040a022a00", required, .unsupported), ("4a0c120a2a080a0210000a021800", required, .unsupported),
      ("4a0612042a020a00", required, .unsupported),
      // Values below the greatest depth are not decoded: the value there is not even protobuf.
      ("4a0b12092a070a052a030a01ff", required, .unsupported),
      // Not protobuf.
      ("2a02c328", required, .notText), ("2a05", required, .truncated), ("07", required, .malformed),
    ] as [(String, String, ProtobufError.Code)])
  func `what a span cannot hold is refused`(hex: String, required: String, code: ProtobufError.Code) {
    #expect { try TraceRequest(protobuf: Self.bytes(spanWith: hex, required: required)) } throws: {
      ($0 as? ProtobufError)?.code == code
    }
  }

  @Test(arguments: [
    "", "1a00", "0a00", "0a020a00", "0a041200" + "1200", "0a0b12090a070a056f74686572", "0a020a000a020a00",
    "0a0d0a0012090a070a056261746f6e" + "0a0d0a0012090a070a056261746f6e",
    "0a180a0012090a070a056261746f6e12090a070a056261746f6e",
  ])
  func `a request is of one resource and of the scope baton`(hex: String) {
    #expect { try TraceRequest(protobuf: [UInt8](hexadecimal: hex)!) } throws: {
      ($0 as? ProtobufError)?.code == .unsupported
    }
  }

  @Test func `an error says where it is`() {
    let bytes = Self.bytes(spanWith: "3006")
    #expect { try TraceRequest(protobuf: bytes) } throws: { ($0 as? ProtobufError)?.offset == bytes.count }
  }

  @Test(arguments: [
    DecodingLimits(bytes: 200), DecodingLimits(spans: 1), DecodingLimits(attributes: 14), DecodingLimits(events: 1),
    DecodingLimits(links: 1), DecodingLimits(attributes: 1),
  ])
  func `what is larger than the limits is refused`(limits: DecodingLimits) throws {
    #expect { try TraceRequest(protobuf: GoldenTests.rich.protobuf, limits: limits) } throws: {
      ($0 as? ProtobufError)?.code == .tooLarge
    }
  }

  @Test func `what is just as large as the limits is read`() throws {
    let bytes = GoldenTests.rich.protobuf
    let limits = DecodingLimits(bytes: bytes.count, spans: 2, attributes: 15, events: 2, links: 2)
    #expect(try TraceRequest(protobuf: bytes, limits: limits) == GoldenTests.rich)
  }
}
