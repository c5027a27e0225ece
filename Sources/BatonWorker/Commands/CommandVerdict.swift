import BatonBase
import BatonModel
import BatonProcess

/// What the end of a process means for its batch.
enum CommandVerdict: Hashable, Sendable {
  /// The process exited with status 0, and the worker had not sent it a signal.
  case done
  /// The worker had sent the process a signal, or the process exited with another status than 0 after its launch had
  /// expired. The batch is not committed: an exit status that a stop signal may have caused proves nothing. A batch may
  /// be repeated, but must not be skipped.
  case expired(isGraceful: Bool)
  /// The process failed by itself.
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

  /// Returns if the batch is done, and throws otherwise.
  /// - Parameters:
  ///   - subject: names the command and the batch, for the message.
  ///   - output: the last lines of the command's output; `nil` if they must not be shown.
  /// - Throws: `CommandExpired` or `CommandError`.
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
  /// The longest beginning of this text that has at most `bytes` bytes of UTF-8.
  func prefix(bytes: Int) -> String {
    if utf8.count <= bytes { return self }
    var end = utf8.index(startIndex, offsetBy: bytes)
    while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }
}
