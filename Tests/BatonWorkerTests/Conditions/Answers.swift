import BatonWorker
import Synchronization

/// Answers of a command, one after the other; the last one stays.
final class Answers: Sendable {
  private let rest: Mutex<[SystemCommand.Answer]>

  init(_ answers: [SystemCommand.Answer]) { rest = Mutex(answers) }

  func next() -> SystemCommand.Answer {
    rest.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? .missing }
  }
}
