import BatonBase

/// Why a command was not started, as `baton-exec` says it on a pipe that the command does not get: `STAGE ERRNO WHAT`.
package struct StartReport: Sendable {
  /// `nil` if the command was started.
  package let failure: SystemError?

  /// - Parameter bytes: what was in the pipe when the process had ended. `baton-exec` writes its line in one piece.
  package init(_ bytes: [UInt8]) {
    let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    let words = line.split(separator: " ", maxSplits: 2)
    failure =
      words.first.map { stage in
        Self.failure(
          String(stage), words.count > 1 ? Int32(words[1]) ?? 0 : 0, words.count > 2 ? String(words[2]) : "")
      }
  }

  private static func failure(_ stage: String, _ error: Int32, _ what: String) -> SystemError {
    switch stage {
    case "exec": failure(starting: error)
    case "directory": SystemError(.directoryNotEntered, SystemCall.explanation(of: error), cause: error)
    case "refused": SystemError(.notPermitted, what, cause: error)
    default: SystemError(.notFenced, "\(what): \(SystemCall.explanation(of: error))", cause: error)
    }
  }

  /// The error for a program that execve(2) refused with this errno.
  static func failure(starting error: Int32) -> SystemError {
    let code: SystemError.Code =
      switch error {
      case E2BIG: .argumentsTooLong
      case ENOEXEC: .notAProgram
      case ENOENT: .interpreterMissing
      default: .failed
      }
    return SystemError(code, SystemCall.explanation(of: error), cause: error)
  }
}
