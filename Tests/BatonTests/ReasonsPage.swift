import BatonModel

/// The text of `Documentation/reference/reasons.md`, made from the types. Only its headings and a few sentences stand
/// here.
enum ReasonsPage {
  static var text: String {
    [introduction, obstacles, expiries, outcomes, refusals, events].joined(separator: "\n") + "\n"
  }

  private static let introduction = """
    # Reasons

    This page lists every obstacle, expiry reason, outcome, refusal and event by its code, as `baton explain`,
    `baton show`, JSON, spans and the Swift API print it: what it means, and what to do. The page is generated from the
    types by `BATON_RECORD=1 swift test --filter BatonTests`; a test fails if the page and the types differ.

    """

  // MARK: Sections

  private static var obstacles: String {
    """
    ## Obstacles: why a request does not start

    `baton explain IDENTIFIER` prints every obstacle that holds now. A *permanent* obstacle ends only when the host or the
    definition is changed. If the same cause arises under a running launch, the launch expires with the reason in the last
    column.

    Requests that wait only for a free slot start in this order: by priority; within one priority, definitions with
    *recent use* first; among those, the definition that was served longest ago. A person uses a definition with `submit`,
    `show`, `watch`, `logs`, `trace`, `explain` or `retry`; pokes and repetitions do not count as use. A use counts for 24
    hours. A definition without recent use gets its turn after 10 minutes. `explain` says whether there is recent use, and
    how many definitions go before.


    """ + Obstacle.Subject.allCases.map(obstacles).joined(separator: "\n")
  }

  private static func obstacles(of subject: Obstacle.Subject) -> String {
    let names = Obstacle.Kind.allCases.filter { $0.row.subject == subject }
    let rows = names.map { name in
      let obstacle = name.sample
      return [
        anchor("obstacle", name.rawValue), name.row.meaning + (obstacle.isPermanent ? " *Permanent.*" : ""),
        code(obstacle.remedy), name.row.expiry.map { link("expiry", $0.rawValue) } ?? "",
      ]
    }
    return "### \(heading(subject))\n\n" + table(["obstacle", "means", "what to do", "a running launch"], rows)
  }

  private static func heading(_ subject: Obstacle.Subject) -> String {
    switch subject {
    case .request: "Of the request itself"
    case .fleet: "Of the fleet"
    case .host: "Of one host"
    }
  }

  private static var expiries: String {
    let rows = ExpiryReason.Kind.allCases.map { name in
      let causes = Obstacle.Kind.allCases.filter { $0.row.expiry == name }
      return [
        anchor("expiry", name.rawValue), name.row.meaning, code(name.row.remedy),
        causes.map { link("obstacle", $0.rawValue) }.joined(separator: ", "),
      ]
    }
    return """
      ## Expiry reasons: why a launch was asked to stop

      An expiry is an outcome, never an error: no retry is used up, and the request goes on after its last checkpoint by
      itself, here or on another host. On the right: what keeps it from starting again there meanwhile.


      """ + table(["reason", "means", "what to do", "obstacle"], rows)
  }

  private static var outcomes: String {
    """
    ## Outcomes: how a launch ended


    """
      + table(
        ["outcome", "means", "then"],
        LaunchOutcome.Kind.allCases.map { [anchor("outcome", $0.rawValue), $0.meaning, $0.consequence] })
  }

  private static var refusals: String {
    let rows = Refusal.Kind.allCases.map { name in
      [
        anchor("refusal", name.rawValue), name.meaning, code(name.remedy), String(name.exitStatus),
        String(name.httpStatus),
      ]
    }
    return """
      ## Refusals: why a submission was not accepted

      Apple's four. A refusal leaves nothing behind, and disturbs no other submission of the same call. On gRPC the call is
      `OK`, and the answer to the submission is `refused` with this `code` and a `message`; if nothing at all can be stored
      the call ends `UNAVAILABLE`, with `baton-code: unavailable` beside it, so that it is not taken for a coordinator that
      is not there. Over HTTP the body is `{"code": …, "message": …}`.


      """ + table(["code", "means", "what to do", "exit status", "HTTP"], rows)
  }

  private static var events: String {
    """
    ## Events: what else happened to a request


    """
      + table(
        ["event", "means", "`detail`"],
        RequestEvent.allCases.map { [anchor("event", $0.rawValue), $0.meaning, $0.detail] })
  }

  // MARK: Markdown

  private static func table(_ titles: [String], _ rows: [[String]]) -> String {
    ([titles, titles.map { _ in "---" }] + rows).map(row).joined(separator: "\n") + "\n"
  }

  private static func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }

  private static func anchor(_ section: String, _ code: String) -> String {
    "<a id=\"\(section)-\(code)\"></a>`\(code)`"
  }

  private static func link(_ section: String, _ code: String) -> String { "[`\(code)`](#\(section)-\(code))" }

  /// The text with commands and keys as code: text between quotes, and text from `baton` to the end of its clause.
  private static func code(_ remedy: String) -> String {
    remedy.replacing(/'([^']+)'/) { "`\($0.output.1)`" }
      .replacing(/\bbaton(-worker)? [^`,;()]*[^`,;(). ]/) { "`\($0.output.0)`" }
      .replacing(/``/) { _ in "`" }
  }
}
