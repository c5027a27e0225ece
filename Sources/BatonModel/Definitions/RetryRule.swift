/// How often a request is tried again after failed launches, and after how long. An expiry uses up no retry.
package struct RetryRule: Hashable, Sendable, Codable {
  /// How many retries follow the first failure, 0 or more.
  package var limit: Int
  /// The wait before the first retry. The wait doubles with each further retry.
  package var backoff: Duration
  /// The longest wait, without the jitter; `nil` means a day, or `backoff` if that is longer.
  package var maxBackoff: Duration?
  /// Each wait is longer by a time of its own, from zero to this; `nil` means zero.
  package var jitter: Duration?
  /// The kinds of failure that are tried again; `nil` means all.
  package var on: [FailureKind]?
  /// The kinds of failure that are not tried again; `nil` means none. A definition has `on` or `notOn`, not both.
  package var notOn: [FailureKind]?
  /// After how many failed launches in a row that committed no batch the next batch is skipped; `nil` means never. Only
  /// launches whose batch has failed count (`FailureKind.isOfBatch`).
  package var skipBatchAfter: Int?
  /// How many batches of a request may be skipped, of a request with shards those of each shard; `nil` means
  /// `usualSkipLimit`. Batches that operators skipped count too.
  package var skipLimit: Int?

  package init(limit: Int = 3, backoff: Duration = .seconds(30)) {
    self.limit = limit
    self.backoff = backoff
  }

  /// The default of `skipLimit`.
  package static let usualSkipLimit = 10

  /// Whether a launch that failed in this way is tried again, as long as there are retries left.
  package func covers(_ failure: FailureKind) -> Bool {
    if let on { return on.contains(failure) }
    return !(notOn?.contains(failure) ?? false)
  }

  /// The wait after a failure.
  /// - Parameters:
  ///   - failures: how many launches have failed since the request began or was retried by an operator, at least 1.
  ///   - request: the request or the shard. The jitter depends on it, so that requests that failed together are not
  ///     tried again together. The wait is the same after a restart and on each machine.
  package func wait(after failures: Int, of request: RequestID) -> Duration {
    let longest = maxBackoff ?? max(backoff, .seconds(86_400))
    let wait = min(backoff.doubled(failures - 1), longest)
    guard let jitter else { return wait }
    return wait
      + Jitter.delay(of: "\(request.rawValue)", at: Timestamp(nanoseconds: Int64(failures)), atMost: jitter)
  }

  /// Whether the next batch is skipped after this many failures of it in a row.
  package func skips(after failures: Int) -> Bool { skipBatchAfter.map { failures >= $0 } ?? false }
}

/// A kind of failure, as the attribute `error.type` of a span names it: `exit 75`, `signal SIGSEGV`, a name such as
/// `notFound`, or the type of the error that a Swift handler threw.
package struct FailureKind: RawRepresentable, Hashable, Sendable {
  package let rawValue: String

  package init(rawValue: String) { self.rawValue = rawValue }

  /// A command ended with this status.
  package static func exit(_ status: Int) -> Self { Self(rawValue: "exit \(status)") }

  /// A signal that the worker did not send ended a command.
  /// - Parameter name: the name of the signal, such as `SIGSEGV`.
  package static func signal(_ name: String) -> Self { Self(rawValue: "signal \(name)") }

  /// A batch took longer than `Definition.batchTimeout`.
  package static let timedOut = Self(rawValue: "timedOut")
  /// A refresh reported that it failed.
  package static let refreshFailed = Self(rawValue: "refreshFailed")
  /// The kind is not known (https://opentelemetry.io/docs/specs/semconv/registry/attributes/error/).
  package static let other = Self(rawValue: "_OTHER")

  /// The exit statuses that mean a failure.
  package static let statuses = 1...255

  /// The signals whose names are known. Others are named by their number.
  package static let signals = [
    "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGPIPE",
    "SIGALRM", "SIGTERM", "SIGXCPU", "SIGXFSZ", "SIGSYS", "SIGUSR1", "SIGUSR2",
  ]

  /// What commands fail with, besides an exit status and a signal.
  package static let ofCommands = [
    "notFound", "notExecutable", "badCommand", "directoryMissing", "argumentsTooLong", "badProgress", "badItems",
    "host", "notPermittedOnHost", "secretUnavailable", "timedOut", "refreshFailed",
  ]

  /// Failures before the batch began: of the host, of the program or of the list of the items. Another batch would fail
  /// in the same way.
  private static let beforeBatches: Set = [
    "notFound", "notExecutable", "badCommand", "directoryMissing", "badItems", "host", "notPermittedOnHost",
    "secretUnavailable", "invalidDefinition",
  ]

  /// Whether the batch itself has failed: its command ended with another status than 0 or by a signal, took too long or
  /// said something that is not understood, or the handler threw an error.
  package var isOfBatch: Bool { !Self.beforeBatches.contains(rawValue) }

  /// Whether this can be the kind of a failure: one line of 1 to 255 bytes.
  package var isValid: Bool { (1...255).contains(rawValue.utf8.count) && Line.isAllowed(rawValue) }
}

extension FailureKind: Codable {
  package init(from decoder: any Decoder) throws {
    self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
