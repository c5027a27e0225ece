import BatonAPI
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

/// What can be done with a definition.
enum DefinitionActions {
  static let all = [submit, remove, allow, revert]

  static func buttons(_ report: DefinitionReport, _ visit: Visit) -> HTML {
    let link = Parts.link(of: report.definition.pattern)
    let edit: HTML =
      visit.may("AbleHosts") && report.problem == nil
      ? "<a class=\"button\" href=\"\(Link("definitions", "check", query: [("pattern", report.definition.pattern.rawValue)]))\">Change</a>"
      : ""
    return [
      visit.button("Submit", link.appending("submit"), "Submit"),
      visit.button("Poke", link.appending("submit").with([("poke", "5")]), "Submit"), edit,
      visit.button("Remove", link.appending("remove"), "Remove", isDangerous: true),
    ].filter { !$0.isEmpty }.joined(by: " ")
  }

  // MARK: Submit and poke

  private static let submit = Action(
    path: "/definitions/{pattern}/submit", method: "Submit",
    fields: ["id", "identifier", "payload", "date", "priority", "poke"],
    question: { visit, form in
      let pattern = try visit.call.pattern
      return try form.text("poke") ?? "" == "" ? try submission(pattern, form) : try poke(pattern, form)
    },
    perform: { visit, form in
      let order = try order(try visit.call.pattern, form.withoutEmptyValues)
      return try await RequestActions.submit(order, visit)
    })

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
        <label>Payload, JSON of at most \(Submission.maximumPayloadBytes) bytes (may be empty)
        <textarea name="payload" class="code" rows="4" spellcheck="false">\(try form.text("payload") ?? "")</textarea></label>
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
        <label>Payload, JSON of at most \(Submission.maximumPayloadBytes) bytes (may be empty)
        <textarea name="payload" class="code" rows="3" spellcheck="false">\(try form.text("payload") ?? "")</textarea></label>
        \(Fields.select("Priority", "poke", pokes, try form.text("poke")))
        """, button: "Poke", back: Parts.link(of: pattern))
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

  // MARK: Remove

  private static let remove = Action(
    path: "/definitions/{pattern}/remove", method: "Remove",
    question: { visit, _ in
      let pattern = try visit.call.pattern
      let found = try await visit.run { try await $0.definitions(named: [pattern]) }
      let report = found.first { $0.definition.pattern == pattern }
      let unfinished = (report?.waiting ?? 0) + (report?.counts[.running] ?? 0)
      let text: HTML =
        unfinished == 0
        ? "<p>No request of it can be submitted any more. Requests that have ended stay listed.</p>"
        : """
        <p class="failure">This is refused as long as requests of it are unfinished: \(counted(unfinished, "request")) \
        now. Wait for them, or cancel them first.</p>
        """
      return Question(
        title: "Remove \(pattern.rawValue)", text: text, button: "Remove", isDangerous: true,
        back: Parts.link(of: pattern))
    },
    perform: { visit, _ in
      let pattern = try visit.call.pattern
      try await visit.run { try await $0.remove(pattern) }
      return Outcome(text: "\(pattern) is removed.", page: Link("definitions"))
    })

  // MARK: End evictions

  private static let allow = Action(
    path: "/definitions/{pattern}/allow", method: "Evict", fields: ["host"],
    question: { visit, form in
      let pattern = try visit.call.pattern
      let host = try form.withoutEmptyValues.text("host")
      return Question(
        title: "Let \(pattern.rawValue) run on \(host ?? "every host") again",
        text: "<p>Its evictions \(host == nil ? "from all hosts" : "from this host") end.</p>",
        fields: host.map { Parts.hidden("host", $0) } ?? "", button: "Let it run",
        back: try host.map { name throws(HTTPFailure) in Parts.link(of: try Call.host(name)) }
          ?? Parts.link(of: pattern))
    },
    perform: { visit, form in
      let pattern = try visit.call.pattern
      let host = try form.withoutEmptyValues.text("host").map { text throws(HTTPFailure) in try Call.host(text) }
      _ = try await visit.run { try await $0.setEvicted(pattern, from: host.map { [$0] } ?? [], false) }
      return Outcome(
        text: "\(pattern) may run on \(host?.rawValue ?? "every host") again.",
        page: host.map { Parts.link(of: $0) } ?? Parts.link(of: pattern))
    })

  // MARK: Revert

  private static let revert = Action(
    path: "/definitions/{pattern}/revert", method: "Apply", fields: ["version"],
    question: { visit, form in
      let (pattern, version) = (try visit.call.pattern, try await version(visit, form))
      let present = try await visit.run { try await $0.definitions(named: [pattern]) }
      let step = Plan([version.definition], present: present).steps.first
      let waiting = step?.waiting ?? 0
      let keeping: HTML =
        waiting == 0
        ? ""
        : "<p>\(counted(waiting, "waiting request")) \(waiting == 1 ? "keeps" : "keep") the present definition.</p>"
      return Question(
        title: "Apply version \(version.number) of \(pattern.rawValue) again",
        text: """
          <p>It becomes the newest version. This would change:</p>\(Changes.list(step?.changes ?? []))\(keeping)
          """,
        fields: Parts.hidden("version", "\(version.number)"), button: "Apply version \(version.number)",
        back: Parts.link(of: pattern))
    },
    perform: { visit, form in
      let version = try await version(visit, form)
      let applied = try await visit.run { try await $0.apply([version.definition]) }
      let change = applied.first?.change.rawValue ?? "unchanged"
      return Outcome(
        text: "\(version.definition.pattern): \(change), from version \(version.number).",
        page: Parts.link(of: version.definition.pattern))
    })

  private static func version(_ visit: Visit, _ form: Query) async throws -> DefinitionVersion {
    let pattern = try visit.call.pattern
    guard let number = try form.number("version", in: 1...Int.max) else {
      throw HTTPFailure.invalid("the version is missing: choose one on the page of the definition")
    }
    let versions = try await visit.run { try await $0.versions(of: pattern) }
    guard let version = versions.first(where: { $0.number == number }) else {
      throw HTTPFailure(404, "notFound", "version \(number) of '\(pattern)' is not kept")
    }
    return version
  }
}
