import BatonHandler
import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The content of `BATON_EXPIRY_FILE`, such as
/// `{"deadline":"2026-01-31T12:00:30Z","detail":"anna","reason":"cancelled"}`. `detail` is there only for reasons that
/// have one.
struct ExpiryNotice: Codable, Hashable {
  var reason: String
  var detail: String?
  /// The deadline in RFC 3339 in UTC, by the host's wall clock.
  var deadline: String

  init(_ expiry: Expiry, now: ContinuousClock.Instant, date: Date = Date()) {
    reason = expiry.reason.code
    detail = expiry.reason.detail
    let left = (expiry.deadline - now).inSeconds
    deadline = date.addingTimeInterval(left).formatted(.iso8601)
  }

  /// The notice as one line of JSON.
  func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try Array(encoder.encode(self)) + [UInt8(ascii: "\n")]
  }
}
