import BatonHandler
import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a command finds in `BATON_EXPIRY_FILE`, such as
/// `{"deadline":"2026-01-31T12:00:30Z","detail":"anna","reason":"cancelled"}`.
/// `detail` is there for the reasons that have one.
struct ExpiryNotice: Codable, Hashable {
  var reason: String
  var detail: String?
  /// RFC 3339 in UTC, by the host's clock.
  var deadline: String

  init(_ expiry: Expiry, now: ContinuousClock.Instant, date: Date = Date()) {
    reason = expiry.reason.code
    detail = expiry.reason.detail
    let left = (expiry.deadline - now).inSeconds
    deadline = date.addingTimeInterval(left).formatted(.iso8601)
  }

  /// The file appears with everything in it: a command that polls for it never reads half.
  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    try SystemCall.write(Array(encoder.encode(self)) + [UInt8(ascii: "\n")], to: path + ".part")
    try FileManager.default.moveItem(atPath: path + ".part", toPath: path)
  }
}
