/// What one call has sent, and what the server has answered: the server answers in the order in which it was asked.
struct Exchange<Answer> {
  /// Something that was sent and has an answer.
  enum Request: Equatable {
    /// DEALLOCATE of a statement that is not used any more. Its failure has no effect.
    case removal
    case preparation(Int, name: String)
    case execution(Int, name: String)
    /// The end of a pipeline. After an error the server skips everything up to here.
    case synchronization
  }

  private(set) var requests: [Request] = []
  private var position = 0
  /// Whether the first unanswered request has had its answer, and only the mark of its end is missing.
  private var isAnswered = false
  private(set) var answers: [Answer] = []
  /// The first error.
  private(set) var failure: PostgresError?

  var isComplete: Bool { position == requests.count }

  /// The request that the server answers next.
  var current: Request? { isComplete ? nil : requests[position] }

  /// The statement that the server is at.
  var statementIndex: Int? {
    switch current {
    case .preparation(let index, _), .execution(let index, _): index
    case .removal, .synchronization, nil: nil
    }
  }

  mutating func expect(_ request: Request) { requests.append(request) }

  mutating func reserve(_ count: Int) {
    requests.reserveCapacity(count + 1)
    answers.reserveCapacity(count)
  }

  /// The current request has been carried out. Only the answers of statements are kept.
  mutating func succeed(_ answer: Answer) {
    if case .execution = current { answers.append(answer) }
    isAnswered = true
  }

  /// The current request has been refused, or skipped because an earlier one was refused (`error` is `nil`).
  mutating func fail(_ error: PostgresError?) {
    if failure == nil, current != .removal { failure = error }
    isAnswered = true
  }

  /// A pipeline has ended.
  mutating func synchronize() {
    isAnswered = false
    position += 1
  }

  /// libpq marks the end of each request's answers.
  /// - Returns: false if the current request has no answer yet.
  mutating func finish() -> Bool {
    guard isAnswered else { return false }
    isAnswered = false
    position += 1
    return true
  }
}
