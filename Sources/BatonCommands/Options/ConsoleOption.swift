import ArgumentParser

/// `--ui`: shows the answer in a browser in place of printing it.
struct ConsoleOption: ParsableArguments, Sendable {
  @Flag(help: "Open this in the console, in a browser (baton console), and serve it until Ctrl-C.") var ui = false

  /// Opens a page, if the person wants it.
  /// - Parameter parts: the parts of the page's path.
  /// - Returns: whether the person wanted it.
  func open(_ parts: [String?], _ client: ClientOptions) async throws -> Bool {
    guard ui else { return false }
    try await ConsoleOpening(page: "/" + parts.compactMap { $0 }.joined(separator: "/")).run(client)
    return true
  }
}
