import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What the end of a process says of its batch.
enum CommandVerdict: Hashable, Sendable {
  /// Exit status 0, with no signal of ours that could be its cause.
  case done
  /// It was signalled, or left by itself after its launch had expired. Nothing is committed: an exit status that a
  /// stop signal may have caused proves nothing, and repeating a batch is allowed where skipping one is not.
  case expired(isGraceful: Bool)
  case failed(ProcessEnd)

  init(_ outcome: ProcessOutcome, wasStopped: Bool) {
    if !outcome.signalsSent.isEmpty {
      self = .expired(isGraceful: !outcome.signalsSent.isSuperset(of: [SIGTERM, SIGKILL]))
    } else if outcome.end.isSuccess {
      self = .done
    } else {
      self = wasStopped ? .expired(isGraceful: true) : .failed(outcome.end)
    }
  }

  /// Returns if the batch is done.
  /// - Parameter output: the last lines that the command wrote; nil if they may not be told.
  func check(_ subject: () -> String, output: () -> [String]?) throws {
    switch self {
    case .done: break
    case .expired(let isGraceful): throw CommandExpired(isGraceful: isGraceful)
    case .failed(let end): throw Self.failure(end, subject(), output: output())
    }
  }

  private static func failure(_ end: ProcessEnd, _ subject: String, output: [String]?) -> CommandError {
    let (code, type): (CommandError.Code, String)
    var message: String
    switch end {
    case .exited(let status):
      (code, type) = (.exitStatus, "exit \(status)")
      message = "\(subject) ended with status \(status)"
    case .signalled(let signal):
      (code, type) = (.killed, "signal \(SignalName.names[signal] ?? "\(signal)")")
      message = "\(subject) was ended by \(SignalName.of(signal))"
      if signal == SIGKILL { message += "; the host may have run out of memory (see its kernel log)" }
    }
    message += words(of: output)
    return CommandError(code, message.prefix(bytes: LaunchOutcome.maximumErrorBytes), type: type)
  }
}

extension CommandVerdict {
  private static func words(of output: [String]?) -> String {
    guard let output else { return "; see 'baton logs' for what it wrote" }
    return output.isEmpty ? "; it wrote nothing" : "; its last output was:\n" + output.joined(separator: "\n")
  }
}

enum SignalName {
  static let names: [Int32: String] = [
    SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT",
    SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGSEGV: "SIGSEGV", SIGPIPE: "SIGPIPE",
    SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ", SIGSYS: "SIGSYS",
    SIGUSR1: "SIGUSR1", SIGUSR2: "SIGUSR2",
  ]

  static func of(_ signal: Int32) -> String { names[signal] ?? "signal \(signal)" }
}

extension String {
  /// As many characters from the start as fit into so many bytes of UTF-8.
  func prefix(bytes: Int) -> String {
    if utf8.count <= bytes { return self }
    var end = utf8.index(startIndex, offsetBy: bytes)
    while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }
}
