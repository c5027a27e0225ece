import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// One submission and its answer.
struct SubmissionOutcome: Hashable, Sendable {
  var order: SubmissionOrder
  var result: SubmissionResult

  var name: RequestName? {
    guard case .accepted(let receipt, _, _) = result else { return nil }
    return RequestName(identifier: receipt.identifier, number: receipt.number)
  }

  var refusedStatus: ExitStatus? {
    guard case .refused(let code, _) = result else { return nil }
    return ExitStatus(refusalCode: code)
  }
}

/// Submits each order exactly once, even if it has to ask several times: the ids are drawn before the first attempt,
/// and a coordinator that has seen an id before repeats its first answer.
struct Submitting: Sendable {
  /// The most orders in one call.
  static let step = 500
  private static let tries = 3

  var orders: [SubmissionOrder]
  /// Requests that exist already and stand for the orders of their identifiers, which are not sent.
  var accepted: [JobIdentifier: SubmissionReceipt] = [:]
  /// Whether the orders are submitted together as one flow.
  var asFlow = false
  var client: ClientOptions
  var display: ProgressDisplay

  func run() async throws -> [SubmissionOutcome] {
    var results: [SubmissionResult] = []
    let unsent = orders.filter { accepted[$0.identifier] == nil }
    while results.count < unsent.count {
      results += try await submit(Array(unsent.dropFirst(results.count).prefix(Self.step)))
    }
    var answers = results.makeIterator()
    return orders.compactMap { order in
      let receipt = accepted[order.identifier]
      let result = receipt.map { .accepted($0, traceID: $0.traceID?.description ?? "", warning: nil) } ?? answers.next()
      return result.map { SubmissionOutcome(order: order, result: $0) }
    }
  }

  private func submit(_ part: [SubmissionOrder]) async throws -> [SubmissionResult] {
    let reconnection = Reconnection(limit: Self.tries)
    let (user, asFlow) = (CommandEnvironment.current.user, asFlow)
    let results = try await reconnection.run(client, display) { api in
      reconnection.noteConnected()
      return try await asFlow ? api.submitFlow(part, by: user) : api.submit(part, by: user)
    }
    guard results.count == part.count else {
      throw CommandFailure(
        .failed,
        "the coordinator answered only \(results.count) of \(part.count) submissions: see 'baton list', and submit "
          + "what is missing")
    }
    return results
  }
}

extension Console {
  /// Writes the answers: accepted submissions to standard output, refusals and warnings to standard error.
  /// - Parameter awaitsEnd: the caller writes JSON once, when the requests have ended; then no JSON is written here.
  func tell(
    _ outcomes: [SubmissionOutcome], _ options: ChangeOptions, remark: String? = nil, isList: Bool, awaitsEnd: Bool
  ) {
    for outcome in outcomes { tell(outcome) }
    let accepted = outcomes.compactMap { outcome -> (line: String, json: JSONValue)? in
      guard case .accepted(let receipt, let traceID, let warning) = outcome.result else { return nil }
      return (
        receipt.line(for: outcome.order, at: environment.now()) + (remark.map { "; \($0)" } ?? ""),
        JSONValue(receipt, outcome.order, traceID, warning)
      )
    }
    let format = options.output
    if !format.isTable && awaitsEnd || options.quiet { return }
    if isList || format.isTable { return emit(format, list: accepted.map(\.json)) { accepted.map(\.line) } }
    for answer in accepted { emit(format, answer.json) { [] } }
  }

  private func tell(_ outcome: SubmissionOutcome) {
    switch outcome.result {
    case .accepted(_, _, let text?): warning("\(outcome.order.identifier): \(text.onOneLine)")
    case .accepted(_, _, nil): break
    case .refused(let code, let message): error("\(outcome.order.identifier): \("\(code): \(message)".onOneLine)")
    }
  }
}
