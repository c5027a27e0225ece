import BatonIdentity
package import BatonModel
import BatonWire
import Synchronization

/// Codes that sign a browser in once. The command that shows a code is the proof: it runs as the person.
package final class OneTimeCodes: Sendable {
  private let codes = Mutex<[String: Timestamp?]>([:])

  /// How long a code is usually valid.
  package static let lifetime = Duration.seconds(60)
  /// The most codes that are valid at the same time.
  private static let most = 16

  package init() {}

  /// A new code of 64 characters, which are 32 random bytes.
  /// - Parameter lifetime: how long it is valid; `nil` until it is used.
  package func issue(at now: Timestamp, lasting lifetime: Duration? = lifetime) -> String {
    let code = Hexadecimal.text(ConsoleSession.random(32))
    codes.withLock { codes in
      codes = codes.filter { $0.value.map { now < $0 } ?? true }
      if codes.count >= Self.most { codes.removeAll() }
      codes[code] = .some(lifetime.map { now + $0 })
    }
    return code
  }

  /// Whether the code is valid. Afterwards it is not.
  func redeem(_ code: String, at now: Timestamp) -> Bool {
    codes.withLock { codes in
      // Every code is compared, so that the time says nothing about them.
      let found = codes.keys.reduce(into: String?.none) { if Secret.isEqual($1, code) { $0 = $1 } }
      guard let found, let end = codes.removeValue(forKey: found) else { return false }
      return end.map { now < $0 } ?? true
    }
  }
}
