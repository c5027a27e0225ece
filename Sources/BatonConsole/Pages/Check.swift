import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

/// The page that checks YAML, says what applying it would change, and applies it.
enum CheckPage {
  /// The most problems that are shown.
  private static let mostProblems = 100
  /// The most definitions of a plan that are shown one by one.
  private static let mostSteps = 200

  @Sendable static func empty(_ visit: Visit) async throws -> Page {
    var text = ""
    if let name = try visit.query.text("pattern") {
      let pattern = try Call.pattern(name)
      let found = try await visit.ifPermitted("Definitions") { try await $0.definitions(named: [pattern]) } ?? []
      if let report = found.first(where: { $0.definition.pattern == pattern }), report.problem == nil {
        text = (try? DefinitionValue(report.definition).yaml) ?? ""
      }
    }
    return page(text, visit, "")
  }

  /// Reads the YAML of the form, and shows what is wrong with it or what it would change.
  static func check(_ visit: Visit) async throws -> Page {
    let text = try await sent(visit)
    return try await result(text, try read(text, visit), visit)
  }

  /// Applies the YAML of the form, all of it or nothing.
  static func apply(_ visit: Visit) async throws -> Answer {
    let text = try await sent(visit)
    let read = try read(text, visit)
    guard !read.hasErrors, !read.definitions.isEmpty else {
      return Answer(visit.document(try await result(text, read, visit)))
    }
    try read.checkCount()
    let applied = try await visit.run { try await $0.apply(read.definitions) }
    let words = [AppliedDefinition.Change.created, .updated, .unchanged].compactMap { change -> String? in
      let count = applied.count { $0.change == change }
      return count == 0 ? nil : "\(count) \(change.rawValue)"
    }
    let submitted = applied.count { $0.submitted != nil }
    let more = submitted == 0 ? "" : " \(counted(submitted, "request")) submitted."
    let place = applied.count == 1 ? Parts.link(of: applied[0].pattern) : Link("definitions")
    return visit.seeOther(
      place, telling: Outcome(text: "Applied: \(words.joined(separator: ", ")).\(more)", page: place))
  }

  private static func sent(_ visit: Visit) async throws -> String {
    let form = try await visit.form(["yaml"], most: Call.largestBody)
    // Forms end lines with CR and LF.
    return (try form.text("yaml") ?? "").replacing("\r\n", with: "\n")
  }

  private static func read(_ text: String, _ visit: Visit) throws -> SentDefinitions {
    try SentDefinitions(Array(text.utf8), now: visit.now)
  }

  // MARK: The page

  private static let example: HTML = """
    <details id="example"><summary>An example of a definition</summary>
    <pre class="yaml" tabindex="0"><code>identifier: com.example.hello
    kind: continued
    title: Greetings
    work:
      command: [sh, -c, 'for name; do echo "hello, $name"; done', greet]
      items: {list: [Ada, Barbara, Claude, Donald, Edsger, Frances]}
      batchSize: 2
    </code></pre></details>
    """

  private static func page(_ text: String, _ visit: Visit, _ result: HTML) -> Page {
    Page(
      title: "Check definitions", section: .definitions,
      main: """
        <p class="crumbs"><a href="/definitions">Definitions</a></p>
        <h1>Check definitions</h1>
        <p class="lead">What is written here is read as <code>baton apply</code> reads a job file. Checking changes
        nothing; what is in order can be applied then.</p>
        \(result)
        \(text.isEmpty, example)
        <form method="post" action="/definitions/check">
        <label for="yaml">Definitions as YAML; several are separated by a line <code>---</code></label>
        <textarea id="yaml" name="yaml" class="code" rows="24" spellcheck="false" autocomplete="off" required>
        \(text)</textarea>
        <p class="buttons"><button class="primary">Check</button></p>
        </form>
        """)
  }

  private static func result(_ text: String, _ read: SentDefinitions, _ visit: Visit) async throws -> Page {
    let problems = problems(read.problems, in: text)
    guard !read.hasErrors else { return page(text, visit, problems) }
    guard !read.definitions.isEmpty else {
      return page(text, visit, "<p class=\"failure\" role=\"alert\">There is no definition in this text.</p>")
    }
    try read.checkCount()
    let plan = try await visit.run { try await Plan(read.definitions, asking: $0) }
    return page(text, visit, "\(problems)\(self.plan(plan, text, visit))")
  }

  /// The problems, each with its line and the two lines before it, under their numbers.
  private static func problems(_ problems: [Problem], in text: String) -> HTML {
    guard !problems.isEmpty else { return "" }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let items = problems.prefix(mostProblems).map { problem -> HTML in
      let excerpt = problem.excerpt.map { excerpt -> HTML in
        let number = problem.position.line
        let before = (max(1, number - 2)..<max(1, number)).filter { $0 <= lines.count }.map { line in
          "\(Self.gutter(line))\(lines[line - 1].prefix(200))\n"
        }
        return "<pre>\(before.joined())\(Self.gutter(number))\(excerpt.line)\n\(Self.gutter(nil))\(excerpt.caret)</pre>"
      }
      let state: HTML =
        problem.severity == .error
        ? "<span class=\"state failed\">error</span>"
        : "<span class=\"state warning\">\(problem.severity.rawValue)</span>"
      return """
        <li>\(state) line \(problem.position.line), column \(problem.position.column): \(problem.message)\(excerpt ?? "")</li>
        """
    }
    let errors = problems.count { $0.severity == .error }
    let heading = errors > 0 ? "\(counted(errors, "mistake")): nothing can be applied" : "Doubtful points"
    let more: HTML =
      problems.count > mostProblems ? "<p>and \(problems.count - mostProblems) more</p>" : ""
    return """
      <section aria-live="polite"><h2>\(heading)</h2><ul class="problems">\(items)</ul>\(more)</section>
      """
  }

  /// The number of a line before it.
  private static func gutter(_ line: Int?) -> String {
    let number = line.map { "\($0)" } ?? ""
    return String(repeating: " ", count: max(0, 4 - number.count)) + number + " │ "
  }

  // MARK: The plan

  private static func plan(_ plan: Plan, _ text: String, _ visit: Visit) -> HTML {
    let shown = plan.steps.enumerated().prefix(mostSteps)
    let rows = shown.map { index, step in row(step, plan.count(of: index), index) }
    let changed = plan.steps.count { $0.change != .unchanged }
    let more: HTML =
      plan.steps.count > mostSteps ? "<p class=\"quiet\">and \(plan.steps.count - mostSteps) more</p>" : ""
    let apply: HTML =
      changed > 0 && visit.may("Apply")
      ? """
      <form method="post" action="/definitions/apply">
      <textarea name="yaml" hidden aria-label="The definitions that were checked">
      \(text)</textarea>
      <p class="buttons">
      <button class="primary">Apply \(changed == 1 ? "this change" : "these \(changed) changes")</button></p>
      </form>
      """ : ""
    let sentence =
      plan.isEmpty
      ? "The text has no mistake, and nothing would change."
      : "The text has no mistake. \(counted(changed, "definition")) of \(plan.steps.count) would change."
    return """
      <section aria-live="polite"><h2>What applying it would change</h2>
      <p>\(sentence)</p>
      \(Parts.table("What would change", ["Definition", "Change", "Keys", "Hosts now", "Waiting requests"], rows))
      \(more)
      \(apply)</section>
      """
  }

  private static func row(_ step: Plan.Step, _ able: AbleHosts.Count?, _ index: Int) -> HTML {
    let change = step.change == .unchanged ? "unchanged" : "would be \(step.change.rawValue)"
    let pattern = step.definition.pattern
    let name: HTML = step.change == .created ? "\(pattern.rawValue)" : Parts.definition(pattern)
    let keep = step.waiting == 1 ? "keeps" : "keep"
    let present =
      step.waiting > 0 ? "\(Parts.number(step.waiting)) \(keep) the definition of their submission" : "none"
    return """
      <tr id="step-\(index)"><th scope="row">\(name)</th><td>\(change)</td>\
      <td>\(step.changes.isEmpty ? "–" : Changes.list(step.changes))</td>\
      <td>\(able.map(Parts.able) ?? "–")</td>\
      <td>\(present)</td></tr>
      """
  }
}
