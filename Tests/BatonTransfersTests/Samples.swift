import BatonModel

@testable import BatonTransfers

/// Values that the tests of transfers share.
enum Samples {
  static let date = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
  static let start = Now(instant: Instant(nanoseconds: 1_000_000_000), date: date)
  static let tag = Validator(text: "\"v1\"", isTag: true)
  static let hash = String(repeating: "ab", count: 32)

  static func now(_ seconds: Double) -> Now {
    let length = Duration.nanoseconds(Int64(seconds * 1e9))
    return Now(instant: start.instant + length, date: date + length)
  }

  static func assignment(_ transfer: Transfer, _ index: Int = 0, request: Int64 = 7) -> TransferAssignment {
    TransferAssignment(
      key: TransferKey(request: RequestID(request), index: index), transfer: transfer,
      identifier: JobIdentifier("com.example.fetch")!, pattern: IdentifierPattern("com.example.fetch")!)
  }

  static func record(_ transfer: Transfer, _ index: Int = 0, request: Int64 = 7, at now: Now = start) -> TransferRecord
  {
    TransferRecord(
      assignment(transfer, index, request: request), orderedAt: now.date, orderedInstant: now.instant, boot: "boot")
  }

  static let get = Transfer(url: "http://a.example/f", to: "f")
  static let put = Transfer(url: "http://a.example/f", method: .put, file: "f")

  /// What an attempt asks for that goes on behind `offset` bytes.
  static func plan(
    _ transfer: Transfer = get, offset: Int64 = 0, validator: Validator? = tag, total: Int64? = nil
  ) -> AttemptPlan {
    AttemptPlan(
      key: TransferKey(request: RequestID(7), index: 0), assignment: assignment(transfer), offset: offset,
      validator: offset > 0 ? validator : nil, total: total)
  }

  static func file(_ bytes: Int64 = 10) -> TransferredFile { TransferredFile(path: "/f", bytes: bytes, sha256: hash) }
}
