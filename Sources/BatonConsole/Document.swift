import BatonCoordinator
import BatonModel

/// What all pages have around them.
enum Document {
  /// - Parameter visit: who looks; `nil` if that is not known.
  static func text(_ page: Page, _ visit: Visit?) -> HTML {
    let topics = page.topics.map(\.text).sorted().joined(separator: " ")
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      \(page.reloads, "<meta http-equiv=\"refresh\" content=\"5\">")<title>\(page.title) · Baton</title>
      <link rel="icon" type="image/svg+xml" href="\(Asset.icon.path)">
      <link rel="stylesheet" href="\(Asset.style.path)">
      <script type="module" src="\(Asset.script.path)"></script>
      </head>
      <body>
      <a class="skip" href="#main">To the content</a>
      \(visit?.caller == nil ? "" : header(page, visit))
      <main id="main" tabindex="-1" data-topics="\(topics)">
      \(visit?.notice ?? "")
      \(page.main)
      </main>
      <footer>
      <p>Baton \(BatonVersion.current)\(visit?.caller == nil ? "" : links)</p>
      </footer>
      </body>
      </html>
      """
  }

  private static let links: HTML = """
     · <a href="/reasons">Reasons</a> · <a href="/about">About</a> · <a href="/help">Keyboard</a>
    """

  private static func header(_ page: Page, _ visit: Visit?) -> HTML {
    let places = Page.Section.allCases.map { section -> HTML in
      let isHere: HTML = page.section == section ? " aria-current=\"page\"" : ""
      return "<li><a href=\"\(section.link)\"\(isHere)>\(section.title)</a></li>"
    }
    let caller = visit?.caller
    let scopes = caller?.credential.map { " (\($0.scopes.text))" } ?? ""
    return """
      <header>
      <a class="brand" href="/">Baton</a>
      <nav aria-label="Parts of the console"><ul>\(places)</ul></nav>
      <form class="search" role="search" action="/search">
      <label class="hidden" for="search">Search: an identifier, a request such as com.example.a#2, or a host</label>
      <input id="search" name="q" type="search" placeholder="identifier, request or host" autocomplete="off"
        spellcheck="false" maxlength="255">
      </form>
      <div class="state"><span id="live" role="status"></span>
      <button id="pause" type="button" hidden aria-pressed="false">Pause</button>
      <a id="refresh" href="">Refresh</a></div>
      <form method="post" action="/logout" class="who"><span title="signed in as\(scopes)">\(caller?.name ?? "")\
      \(visit?.console.isReadOnly == true ? " · read-only" : "")</span> <button>Sign out</button></form>
      </header>
      """
  }
}

extension Page.Section {
  var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
  var link: Link { self == .overview ? Link() : Link(rawValue) }
}

extension Visit {
  func document(_ page: Page) -> HTML { Document.text(page, self) }
}
