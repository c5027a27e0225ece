import BatonBase
import Synchronization

/// Hears of `baton-exec` why a command was not started. The report is the first line of the output. A command cannot
/// write it: it does not know the nonce, which was only in arguments that are gone when the command begins.
package final class FenceReport: Sendable {
  let nonce = (0..<32).map { _ in String(UInt8.random(in: 0...15), radix: 16) }.joined()
  private let state = Mutex(State.waits)

  private enum State {
    /// No output has come yet.
    case waits
    /// The first output has come, and it was the command's.
    case isOutput
    case failed(SystemError)
  }

  package init() {}

  /// Takes a piece of the output. Returns what of it is the command's.
  package func taking(_ bytes: [UInt8]) -> [UInt8] {
    state.withLock { state in
      switch state {
      case .waits:
        guard let error = failure(in: bytes) else {
          if !bytes.isEmpty { state = .isOutput }
          return bytes
        }
        state = .failed(error)
        return []
      case .isOutput: return bytes
      case .failed: return []
      }
    }
  }

  /// Why the command was not started; `nil` if it was, or if its output has not begun.
  package var failure: SystemError? {
    state.withLock { if case .failed(let error) = $0 { error } else { nil } }
  }

  /// The line is written in one piece, which a pipe does not divide.
  private func failure(in bytes: [UInt8]) -> SystemError? {
    let head = Array("\(Fence.helperName) \(nonce) ".utf8)
    guard bytes.starts(with: head) else { return nil }
    let line = String(decoding: bytes.dropFirst(head.count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    let words = line.split(separator: " ", maxSplits: 2)
    let code = words.count > 1 ? Int32(words[1]) ?? 0 : 0
    let what = words.count > 2 ? String(words[2]) : ""
    return Self.failure(stage: words.first.map(String.init) ?? "", code, what)
  }

  private static func failure(stage: String, _ error: Int32, _ what: String) -> SystemError {
    let why = SystemCall.explanation(of: error)
    return switch (stage, error) {
    case ("exec", E2BIG): SystemError(.argumentsTooLong, why, cause: error)
    case ("exec", ENOEXEC): SystemError(.notAProgram, why, cause: error)
    case ("exec", ENOENT): SystemError(.interpreterMissing, why, cause: error)
    case ("exec", _): SystemError(.failed, why, cause: error)
    case ("refused", _): SystemError(.notPermitted, what, cause: error)
    default: SystemError(.notFenced, "\(what): \(why)", cause: error)
    }
  }
}
