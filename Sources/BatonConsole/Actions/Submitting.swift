import BatonAPI
import BatonBase
import BatonCoordinator
import BatonModel
import BatonSpec
import BatonStore

/// Submits or pokes a request of a definition.
enum Submitting {
  static let action = Action(
    path: "/definitions/{pattern}/submit", method: "Submit",
    fields: ["id", "identifier", "payload", "date", "priority", "poke"],
    question: { visit, form in
      let pattern = try visit.call.pattern
      return try form.text("poke") ?? "" == "" ? try submission(pattern, form) : try poke(pattern, form)
    },
    perform: { visit, form in
      let order = try order(try visit.call.pattern, form.withoutEmptyValues)
      return try await submit(order, visit)
    })

  /// The question about a poke of the identifier of a request.
  static func poke(_ record: RequestRecord) -> Link {
    let identifier = record.pattern.isWildcard ? record.identifier.rawValue : nil
    return Parts.link(of: record.pattern).appending("submit").with([("poke", "5"), ("identifier", identifier)])
  }

  /// Submits a request, and shows it.
  private static func submit(_ order: SubmissionOrder, _ visit: Visit) async throws -> Outcome {
    let result = try await visit.run { try await $0.submit([order], by: visit.principal) }.first
    switch result {
    case .accepted(let receipt, _, let warning)?:
      return Outcome(
        text: "\(receipt.identifier) #\(receipt.number) is \(receipt.state.rawValue)."
          + (warning.map { " \($0.capitalizedFirst)." } ?? ""),
        page: Parts.link(of: receipt.identifier, receipt.number))
    case .refused(let code, let message)?: throw HTTPFailure(409, code, message)
    case nil: throw HTTPFailure(500, "internal", "the submission got no answer")
    }
  }

  private static func submission(_ pattern: IdentifierPattern, _ form: Query) throws -> Question {
    let priorities = Priority.allCases.map { ($0.name, $0.name) }
    return Question(
      title: "Submit a request of \(pattern.rawValue)",
      text: """
        <p>A request of this definition is submitted. If one waits already for its first launch, the new one takes its \
        place.</p>
        """,
      fields: """
        \(try names(pattern, form))
        \(try payload(form))
        <label>Not before: a duration such as 2h, or a date such as 2026-03-01T06:30:00Z (may be empty)
        <input name="date" autocomplete="off" maxlength="64" value="\(try form.text("date") ?? "")"></label>
        \(Fields.select("Priority", "priority", priorities, try form.text("priority"), none: "as the definition says"))
        """, button: "Submit", back: Parts.link(of: pattern))
  }

  private static func poke(_ pattern: IdentifierPattern, _ form: Query) throws -> Question {
    let pokes = [("5", "5: together with others, after their spacing"), ("10", "10: at once")]
    return Question(
      title: "Poke \(pattern.rawValue)",
      text: """
        <p>A poke says that there is something to do: the request that waits starts without waiting for its date, or a \
        new one is submitted. Pokes that come close together make few launches.</p>
        """,
      fields: """
        \(try names(pattern, form))
        \(try payload(form))
        \(Fields.select("Priority", "poke", pokes, try form.text("poke")))
        """, button: "Poke", back: Parts.link(of: pattern))
  }

  private static func payload(_ form: Query) throws -> HTML {
    """
    <label>Payload, JSON of at most \(Submission.maximumPayloadBytes) bytes (may be empty)
    <textarea name="payload" class="code" rows="4" spellcheck="false">
    \(try form.text("payload") ?? "")</textarea></label>
    """
  }

  /// The id of the submission, so that a form that is sent twice submits once, and for a wildcard the identifier.
  private static func names(_ pattern: IdentifierPattern, _ form: Query) throws -> HTML {
    let id = Parts.hidden("id", try form.text("id") ?? RandomNumbers.name())
    guard pattern.isWildcard else { return id }
    return """
      \(id)<label>Identifier <input name="identifier" required maxlength="255" autocomplete="off" \
      value="\(try form.text("identifier") ?? String(pattern.rawValue.dropLast()))"></label>
      """
  }

  /// The submission that a form describes.
  private static func order(_ pattern: IdentifierPattern, _ form: Query) throws -> SubmissionOrder {
    let name = try form.text("identifier") ?? pattern.rawValue
    guard let identifier = JobIdentifier(name), pattern.matches(identifier) else {
      throw HTTPFailure.invalid("'\(name.escapedForMessage)' is not an identifier of '\(pattern.rawValue)'")
    }
    let payload = try form.text("payload").map { Array($0.utf8) }
    if let payload {
      guard payload.count <= Submission.maximumPayloadBytes else {
        throw HTTPFailure(
          413, "invalid", "a payload has at most \(Submission.maximumPayloadBytes) bytes: put it in a file")
      }
      do { try Call.checkJSON(payload) } catch {
        throw HTTPFailure.invalid(error.message.replacing("the body", with: "the payload"))
      }
    }
    var order = SubmissionOrder(
      id: try form.text("id").map { text throws(HTTPFailure) in try Call.submissionID(text, "the id of a submission") }
        ?? RandomNumbers.name(), identifier: identifier, payload: payload)
    if let text = try form.text("date") {
      do { order.earliestBeginDate = try Values.earliestBeginDate(text) } catch {
        throw HTTPFailure.invalid("\(error)")
      }
    }
    if let text = try form.text("priority") {
      guard let priority = Priority(name: text) else { throw HTTPFailure.invalid("there is no such priority") }
      order.priority = priority
    }
    if let text = try form.text("poke") {
      guard let poke = Int(text).flatMap(PokePriority.init) else {
        throw HTTPFailure.invalid("a poke has priority 5 or 10")
      }
      order.poke = poke
    }
    return order
  }
}
