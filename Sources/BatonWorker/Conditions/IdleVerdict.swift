package import BatonModel

/// Whether somebody uses a host.
package enum IdleVerdict: Hashable, Sendable {
  /// Its source is what decided: `input`, `terminal`, `logind`, `load` or `pressure`.
  case known(Reading<Bool>)
  /// Nobody can say. `looksUnused` is true where there is nobody to ask, as in a container, and load and pressure are
  /// known and low (contract, row 21).
  case unknown(raw: String, looksUnused: Bool)
}

/// When somebody was seen last, and how.
struct Sighting: Hashable, Sendable {
  var at: Instant
  /// Such as `pts/3 used`.
  var what: String
}

extension Duration {
  /// In whole seconds, minutes or hours, for people: `12 s`, `5 min`, `3 h`.
  var roughly: String {
    let seconds = max(0, components.seconds)
    if seconds < 120 { return "\(seconds) s" }
    return seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
  }
}
