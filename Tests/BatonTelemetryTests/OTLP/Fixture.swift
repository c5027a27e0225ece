import BatonModel
import BatonTelemetry

enum Fixture {
  static let trace = TraceID(hex: "5b8efff798038103d269b633813fc60c")!
  static let span = SpanID(hex: "eee19b7ec3c1b174")!

  static func span(_ number: UInt64, name: String = "run nightly") -> SpanRecord {
    SpanRecord(
      trace: trace, id: SpanID(number), name: name, kind: .internal, start: Timestamp(nanoseconds: 1),
      end: Timestamp(nanoseconds: 2))
  }

  static func instant(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }
}
