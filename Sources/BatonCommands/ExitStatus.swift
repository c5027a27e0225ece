import BatonModel

/// What a command tells the shell: the numbers of sysexits(3) where it has one for the case.
package enum ExitStatus: Int32, Hashable, Sendable, CaseIterable {
  /// Done, or accepted.
  case done = 0
  /// A request failed or was cancelled; also every error that has no number of its own.
  case failed = 1
  /// `explain` only: the request waits.
  case waiting = 2
  case notFound = 3
  /// Refused as things are; `explain`: impossible on this fleet.
  case refused = 4
  case usage = 64
  /// The YAML has errors; nothing was applied.
  case badSpecification = 65
  case unreachable = 69
  /// Draining, paused, or the store cannot be opened or written now.
  case unavailable = 75
  case notPermitted = 77
  /// Of a coordinator, where a new start would not help: its store is another's now, its files were taken away, or it
  /// refuses its own token file.
  case needsMending = 78
  case timedOut = 124
  case interrupted = 130

  /// The status of a refusal with one of Apple's four codes.
  init(refusalCode: String) {
    self = Refusal.Kind(rawValue: refusalCode).flatMap { ExitStatus(rawValue: $0.exitStatus) } ?? .refused
  }
}
