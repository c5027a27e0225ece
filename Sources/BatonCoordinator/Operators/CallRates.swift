import BatonBase
import BatonModel
import Synchronization

/// How much one caller may ask for. Every number is a key of `coordinator.yaml`.
package struct CallRates: Hashable, Sendable {
  /// Submissions of one credential in a second; the burst is five times as much.
  package var submissions = 200
  /// Calls of one credential that change something, in a second; the burst is twice as much.
  package var changes = 20
  /// Wrong credentials from one address in a minute.
  package var failures = 10
  /// Attempts to join from one address in a minute that are refused.
  package var joins = 5
  /// Attempts of hosts whose certificate has ended to get another one, from one address in a minute, that are refused.
  /// They are counted apart from joins: a host that is refused for good keeps no new host at its address out.
  package var rejoins = 5
  /// New connections of one address in a second; the burst is five times as much. Each may cost a TLS handshake.
  package var handshakes = 200

  package init() {}
}

/// Counts what callers do against the limits of `CallRates`.
final class CallMeter: Sendable {
  private struct Meters: Sendable {
    var changes: RateMeter<[UInt8]>
    var submissions: RateMeter<[UInt8]>
    var failures: RateMeter<String>
    var joins: RateMeter<String>
    var rejoins: RateMeter<String>
  }

  private let meters: Mutex<Meters>
  private let clocks: Clocks

  init(_ rates: CallRates, _ clocks: Clocks) {
    self.clocks = clocks
    func limit(_ count: Int, each seconds: Int, burst: Int) -> RateLimit {
      RateLimit(rate: Double(count) / Double(seconds), burst: Double(burst))
    }
    meters = Mutex(
      Meters(
        changes: RateMeter(limit(rates.changes, each: 1, burst: 2 * rates.changes)),
        submissions: RateMeter(limit(rates.submissions, each: 1, burst: 5 * rates.submissions)),
        failures: RateMeter(limit(rates.failures, each: 60, burst: rates.failures)),
        joins: RateMeter(limit(rates.joins, each: 60, burst: rates.joins)),
        rejoins: RateMeter(limit(rates.rejoins, each: 60, burst: rates.rejoins))))
  }

  private var now: Instant { clocks.now().instant }

  func takeChange(of credential: [UInt8]) -> Bool { meters.withLock { $0.changes.take(credential, at: now) } }

  func takeSubmissions(_ count: Int, of credential: [UInt8]) -> Bool {
    meters.withLock { $0.submissions.take(credential, count, at: now) }
  }

  func permitsFailure(from address: String) -> Bool { meters.withLock { $0.failures.permits(address, at: now) } }

  func noteFailure(from address: String) { meters.withLock { _ = $0.failures.take(address, at: now) } }

  func permitsJoin(from address: String) -> Bool { meters.withLock { $0.joins.permits(address, at: now) } }

  func noteFailedJoin(from address: String) { meters.withLock { _ = $0.joins.take(address, at: now) } }

  func permitsRejoin(from address: String) -> Bool { meters.withLock { $0.rejoins.permits(address, at: now) } }

  func noteFailedRejoin(from address: String) { meters.withLock { _ = $0.rejoins.take(address, at: now) } }
}
