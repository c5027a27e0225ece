import BatonProcess
import Synchronization

/// Gives the answers of a command one after the other. The last answer is repeated.
final class Answers: Sendable {
  private let rest: Mutex<[SystemCommand.Answer]>

  init(_ answers: [SystemCommand.Answer]) { rest = Mutex(answers) }

  func next() -> SystemCommand.Answer {
    rest.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? .missing }
  }
}
