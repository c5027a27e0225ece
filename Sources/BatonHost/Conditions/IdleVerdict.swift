package import BatonModel

/// Whether a host is idle, as `IdleProbe` reads it.
package enum IdleVerdict: Hashable, Sendable {
  /// `true` for idle. The reading's source is the source that decided: `input`, `terminal`, `logind`, `load` or
  /// `pressure`.
  case known(Reading<Bool>)
  /// The sources cannot tell. `looksUnused` is true if there is no source that could notice a person, as in a
  /// container, and load and pressure are known and low (contract, row 21).
  case unknown(raw: String, looksUnused: Bool)
}

/// When a person was last noticed, and by what sign.
struct Sighting: Hashable, Sendable {
  var at: Instant
  /// The sign, in words for people, such as `pts/3 used`.
  var what: String
}

extension Duration {
  /// This duration in whole seconds, minutes or hours, for people: `12 s`, `5 min`, `3 h`.
  var roughly: String {
    let seconds = max(0, components.seconds)
    if seconds < 120 { return "\(seconds) s" }
    return seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
  }
}
