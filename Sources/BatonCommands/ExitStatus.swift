import BatonModel

/// The exit statuses of `baton`, with the numbers of sysexits(3) where that page has one for the case.
package enum ExitStatus: Int32, Hashable, Sendable, CaseIterable {
  /// Done, or accepted.
  case done = 0
  /// A request failed or was cancelled, or an error occurred that has no number of its own.
  case failed = 1
  /// From `explain`: the request waits. From `plan`: something would change.
  case waiting = 2
  case notFound = 3
  /// The coordinator refused, and refuses again until the fleet, the definition or the command changes. From `explain`:
  /// no host of this fleet can ever take the request.
  case refused = 4
  case usage = 64
  /// The YAML has errors; nothing was applied.
  case badSpecification = 65
  case unreachable = 69
  /// The coordinator shuts down, is paused or overloaded, or the store cannot be opened or written now. Trying again
  /// later can help.
  case unavailable = 75
  case notPermitted = 77
  /// Only from a command that opens a store, where starting it again would not help: another coordinator owns the store
  /// now; the store's files were removed or damaged; a newer version wrote them; they lie where a store cannot be kept;
  /// or the coordinator refuses its own token file.
  case needsMending = 78
  case timedOut = 124
  case interrupted = 130

  /// The status of a refusal with one of Apple's four codes.
  init(refusalCode: String) {
    // From a launch only: another launch of its request is live, or what it wrote to its socket is malformed.
    if refusalCode == "badRequest" {
      self = .usage
      return
    }
    self = Refusal.Kind(rawValue: refusalCode).flatMap { ExitStatus(rawValue: $0.exitStatus) } ?? .refused
  }
}
