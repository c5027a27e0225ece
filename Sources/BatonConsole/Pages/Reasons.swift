import BatonModel

/// The page of all codes, from the types that `Documentation/reference/reasons.md` is made of. Each code is an anchor:
/// `/reasons#needsExternalPower`.
enum ReasonsPage {
  @Sendable static func show(_ visit: Visit) async throws -> Page { page }

  static let page = Page(
    title: "Reasons",
    main: """
      <h1>Reasons</h1>
      <p class="lead">Every code that Baton gives as a reason: what it means, and what to do.</p>
      \(obstacles)\(expiries)\(outcomes)\(refusals)\(events)
      """)

  // MARK: Sections

  private static var obstacles: HTML {
    let subjects = Obstacle.Subject.allCases.map { subject -> HTML in
      let rows = Obstacle.Kind.allCases.filter { $0.row.subject == subject }.map { kind -> HTML in
        let row = kind.row
        let permanent: HTML = row.isPermanent ? " <em>Permanent.</em>" : ""
        let expiry: HTML = row.expiry.map { link($0) } ?? "–"
        return """
          <tr><th scope="row"><code id="\(kind.rawValue)">\(kind.rawValue)</code></th>\
          <td>\(Markdown.inline(row.meaning))\(permanent)</td><td>\(Markdown.remedy(row.remedy))</td>\
          <td>\(expiry)</td></tr>
          """
      }
      let title = title(of: subject)
      return "<h3>\(title)</h3>\n"
        + Parts.table("Obstacles: \(title)", ["Code", "Means", "What to do", "A running launch"], rows)
    }
    return """
      <h2>Obstacles: why a request does not start</h2>
      <p>A <em>permanent</em> obstacle ends only when the host or the definition is changed. If the same cause \
      arises under
      a running launch, the launch expires with the reason in the last column.</p>
      \(subjects)
      """
  }

  private static func title(of subject: Obstacle.Subject) -> String {
    switch subject {
    case .request: "Of the request itself"
    case .fleet: "Of the fleet"
    case .host: "Of one host"
    }
  }

  private static var expiries: HTML {
    let rows = ExpiryReason.Kind.allCases.map { kind -> HTML in
      let causes = Obstacle.Kind.allCases.filter { $0.row.expiry == kind }.map { Parts.reason($0.rawValue) }
      return """
        <tr><th scope="row"><code id="\(anchor(kind))">\(kind.rawValue)</code></th>\
        <td>\(Markdown.inline(kind.row.meaning))</td><td>\(Markdown.remedy(kind.row.remedy))</td>\
        <td>\(causes.isEmpty ? "–" : causes.joined(by: ", "))</td></tr>
        """
    }
    return """
      <h2>Expiry reasons: why a launch was asked to stop</h2>
      <p>An expiry is no error: no retry is used up, and the request goes on after its last checkpoint by itself, \
      here or on
      another host. On the right: what keeps it from starting again there meanwhile.</p>
      \(Parts.table("Expiry reasons", ["Code", "Means", "What to do", "Obstacle"], rows))
      """
  }

  private static var outcomes: HTML {
    let rows = LaunchOutcome.Kind.allCases.map { kind -> HTML in
      """
      <tr><th scope="row"><code id="\(anchor("outcome", kind.rawValue))">\(kind.rawValue)</code></th>\
      <td>\(Markdown.inline(kind.meaning))</td><td>\(Markdown.inline(kind.consequence))</td></tr>
      """
    }
    return "<h2>Outcomes: how a launch ended</h2>\n" + Parts.table("Outcomes", ["Code", "Means", "Then"], rows)
  }

  private static var refusals: HTML {
    let rows = Refusal.Kind.allCases.map { kind -> HTML in
      """
      <tr><th scope="row"><code id="\(anchor("refusal", kind.rawValue))">\(kind.rawValue)</code></th>\
      <td>\(Markdown.inline(kind.meaning))</td><td>\(Markdown.remedy(kind.remedy))</td>\
      <td class="number">\(Int(kind.exitStatus))</td><td class="number">\(kind.httpStatus)</td></tr>
      """
    }
    return "<h2>Refusals: why a submission was not accepted</h2>\n"
      + Parts.table(
        "Refusals", ["Code", "Means", "What to do", "Exit status", "HTTP"], rows)
  }

  private static var events: HTML {
    let rows = RequestEvent.allCases.map { event -> HTML in
      """
      <tr><th scope="row"><code id="\(anchor("event", event.rawValue))">\(event.rawValue)</code></th>\
      <td>\(Markdown.inline(event.meaning))</td><td>\(Markdown.inline(event.detail))</td></tr>
      """
    }
    return "<h2>Events: what else happened to a request</h2>\n"
      + Parts.table("Events", ["Code", "Means", "Its detail"], rows)
  }

  // MARK: Anchors

  /// The codes that were used before a section: an anchor stands once on the page.
  private static let taken: [(section: String, codes: Set<String>)] = {
    let obstacles = Set(Obstacle.Kind.allCases.map(\.rawValue))
    let expiries = obstacles.union(ExpiryReason.Kind.allCases.map(\.rawValue))
    let outcomes = expiries.union(LaunchOutcome.Kind.allCases.map(\.rawValue))
    let refusals = outcomes.union(Refusal.Kind.allCases.map(\.rawValue))
    return [("expiry", obstacles), ("outcome", expiries), ("refusal", outcomes), ("event", refusals)]
  }()

  /// The code itself, or with its section if an earlier section has the same code.
  static func anchor(_ section: String, _ code: String) -> String {
    taken.first { $0.section == section }?.codes.contains(code) ?? false ? "\(section)-\(code)" : code
  }

  private static func anchor(_ kind: ExpiryReason.Kind) -> String { anchor("expiry", kind.rawValue) }

  private static func link(_ kind: ExpiryReason.Kind) -> HTML {
    "<a class=\"code\" href=\"\(Link("reasons", anchor: anchor(kind)))\">\(kind.rawValue)</a>"
  }
}

/// The little of Markdown that the texts of codes have.
enum Markdown {
  /// Text between backquotes is code, and text between stars is emphasised.
  static func inline(_ text: String) -> HTML {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part -> HTML in
      index % 2 == 1 ? "<code>\(String(part))</code>" : emphasis(part)
    }.joined()
  }

  private static func emphasis(_ text: Substring) -> HTML {
    let parts = text.split(separator: "*", omittingEmptySubsequences: false)
    // A single star is a star.
    guard parts.count > 2, parts.count % 2 == 1 else { return "\(String(text))" }
    return parts.enumerated().map { index, part -> HTML in
      index % 2 == 1 ? "<em>\(String(part))</em>" : "\(String(part))"
    }.joined()
  }

  /// What to do, with commands and keys as code: text between quotes, and text from `baton` to the end of its clause.
  static func remedy(_ text: String) -> HTML {
    inline(
      text.replacing(/\{(\w+)\}/) { $0.output.1.uppercased() }
        .replacing(/'([^']+)'/) { "`\($0.output.1)`" }
        .replacing(/\bbaton(-worker)? [^`,;()]*[^`,;(). ]/) { "`\($0.output.0)`" }
        .replacing(/``/) { _ in "`" })
  }
}
