import ArgumentParser
import BatonJSON
import BatonModel

struct ConsoleCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "console",
    abstract: "Show the fleet in a browser: what runs, what waits and why, and what can be done.",
    discussion: """
      Serves the console's pages on this machine, as you and with your credential, and opens a browser that is signed in. \
      It goes on until Ctrl-C; the sessions of browsers end with it. A coordinator that is restarted meanwhile is found \
      again.

      With --print it prints the address in place of opening it. The part behind the '#' is a code that signs in one \
      browser within a minute; Enter prints another one. On a machine that you reach through ssh, forward the port first: \
      ssh -L 7430:127.0.0.1:7430 MACHINE, then baton console --print there.

      Examples:
        baton console
        baton console --read-only
        baton console --fleet office --print
      """)

  @Option(
    help: ArgumentHelp(
      "Where to serve, on loopback; port 0 takes a free one. Default: 127.0.0.1:7430, or a free port if it is taken.",
      valueName: "host:port"))
  var http: String?
  @Flag(help: "Show pages without actions.") var readOnly = false
  @Flag(name: .customLong("print"), help: "Print the address, and open no browser.") var prints = false
  @Option(help: ArgumentHelp("The page to open, such as /hosts.", valueName: "path")) var at: String?
  @OptionGroup var client: ClientOptions

  func validate() throws {
    guard let at, !at.hasPrefix("/") else { return }
    throw ValidationError("The page of --at begins with a slash, such as /hosts.")
  }

  func run() async throws {
    try await ConsoleOpening(http: http, isReadOnly: readOnly, prints: prints, page: at).run(client)
  }
}

/// Serves the console for a command, and opens a page of it.
struct ConsoleOpening: Sendable {
  var http: String?
  var isReadOnly = false
  /// Whether the address is printed in place of being opened.
  var prints = false
  /// The page to open; `nil` for the overview.
  var page: String?

  func run(_ client: ClientOptions) async throws {
    let console = Console.current
    let environment = console.environment
    let options = ConsoleOptions(
      http: http, page: page, isReadOnly: isReadOnly, user: environment.user,
      traceURL: try TraceLink.configured(environment)?.template)
    console.note(
      "The console serves this user until Ctrl-C."
        + (environment.readAnswer == nil ? "" : " Enter signs another browser in."))
    try await environment.backend.runConsole(options, client.target(in: environment)) { [prints] address in
      if !prints, environment.openBrowser(address) {
        // The code stays out of the terminal: it is in the browser.
        console.note("Opened \(address.prefix { $0 != "#" }) in your browser.")
      } else {
        console.output(address)
      }
    }
  }
}
