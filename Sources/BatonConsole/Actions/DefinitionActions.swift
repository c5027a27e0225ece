import BatonAPI
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

/// What can be done with a definition.
enum DefinitionActions {
  static let all = [Submitting.action, remove, allow, revert]

  static func buttons(_ report: DefinitionReport, _ visit: Visit) -> HTML {
    let pattern = report.definition.pattern
    let link = Parts.link(of: pattern)
    let change = Link("definitions", "check", query: [("pattern", pattern.rawValue)])
    let edit: HTML =
      visit.may("AbleHosts") && report.problem == nil
      ? "<a class=\"button\" href=\"\(change)\">Change</a>" : ""
    return [
      visit.button("Submit", link.appending("submit"), "Submit"),
      visit.button("Poke", link.appending("submit").with([("poke", "5")]), "Submit"), edit,
      report.definition.repeats ? ScheduleActions.buttons(pattern, report.standing, visit) : "",
      visit.button("Remove", link.appending("remove"), "Remove", isDangerous: true),
    ].filter { !$0.isEmpty }.joined(by: " ")
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
