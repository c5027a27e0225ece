import BatonModel
import Testing

@testable import BatonTelemetry

@Suite struct ExportResponseTests {
  static func response(_ hex: String) throws -> ExportResponse {
    try ExportResponse(protobuf: [UInt8](hexadecimal: hex)!)
  }

  @Test(
    arguments: [
      ("", nil), ("0a00", .init()), ("0a020803", .init(rejected: 3)), ("0a0412026e6f", .init(message: "no")),
      ("0a0708ac0212026e6f", .init(rejected: 300, message: "no")), ("0a0b08ffffffffffffffffff01", .init(rejected: -1)),
      ("0a0208030a0412026e6f", .init(rejected: 3, message: "no")),
    ] as [(String, ExportResponse.PartialSuccess?)])
  func `what was not taken`(hex: String, partial: ExportResponse.PartialSuccess?) throws {
    #expect(try Self.response(hex).partialSuccess == partial)
  }

  @Test(arguments: [
    "10050a020803", "0a0208031a03616263", "0a0908031d010203042001", "190102030405060708" + "0a020803",
    "fdffffff0f010203040a020803", "0a05080322016b", "0a04080310020a00",
  ])
  func `fields that are not known, or have another type, are skipped`(hex: String) throws {
    #expect(try Self.response(hex).partialSuccess?.rejected == 3)
  }

  @Test(
    arguments: [
      ("0a", .truncated, 1), ("0a05", .truncated, 2), ("0a01", .truncated, 2), ("0a020880", .truncated, 4),
      ("08", .truncated, 1),
      ("09010203", .truncated, 1), ("0a0508031d0102", .truncated, 5), ("0affffffffffffffff7f", .truncated, 10),
      ("08ffffffffffffffffff02", .malformed, 11), ("00", .malformed, 1), ("0b", .malformed, 1),
      ("3c68746d6c3e", .malformed, 1), ("0a041202c328", .notText, 4),
    ] as [(String, ProtobufError.Code, Int)])
  func `garbage is an error that says where`(hex: String, code: ProtobufError.Code, offset: Int) throws {
    #expect { try Self.response(hex) } throws: { error in
      (error as? ProtobufError)?.code == code && (error as? ProtobufError)?.offset == offset
    }
  }

  @Test func `whatever the bytes are, it ends`() {
    var state: UInt64 = 42
    func draw() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33
    }
    for _ in 0..<20_000 {
      var bytes = (0..<draw() % 24).map { _ in UInt8(truncatingIfNeeded: draw()) }
      if draw() % 2 == 0 { bytes = [0x0a, UInt8(bytes.count)] + bytes }
      _ = try? ExportResponse(protobuf: bytes)
      _ = ExportVerdict(status: 200, body: bytes, at: Timestamp(nanoseconds: 0))
      _ = ExportVerdict(status: 400, body: bytes, at: Timestamp(nanoseconds: 0))
    }
  }
}
