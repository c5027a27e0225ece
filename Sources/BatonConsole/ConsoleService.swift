package import BatonBase
package import BatonCoordinator
import BatonHTTP
import BatonIdentity
import BatonModel
package import BatonWire
package import Logging
import ServiceLifecycle

/// The console as a server of a person's own process, on loopback. Browsers sign in with codes that this process makes;
/// their sessions end with it.
package struct ConsoleService: Service {
  private let address: HostPort?
  private let console: Console
  private let codes = OneTimeCodes()
  /// The console's name. Browsers reach loopback by every name below `localhost` (RFC 6761), and keep cookies by name
  /// but not by port: a program of another account that knew the name could have a browser open its own port, and get
  /// the session. So each process draws a name.
  private let host = "baton-\(Hexadecimal.text(ConsoleSession.random(8))).localhost"
  private let calls: HTTPCalls
  private let clocks: Clocks
  private let logger: Logger
  private let onListening: @Sendable (ConsoleService, HostPort) -> Void

  /// - Parameters:
  ///   - address: where to listen; port 0 takes a free port. `nil` for the usual address, or a free port if that is
  ///     taken.
  ///   - connection: what the person may call, and whom the coordinator takes the person for.
  ///   - onListening: is called with the address, including the port that was taken.
  package init(
    at address: HostPort?, isReadOnly: Bool, principal: String, traceURL: String?,
    connection: @escaping @Sendable () async throws -> (any OperatorAPI, Caller), clocks: Clocks = .system,
    logger: Logger, onListening: @escaping @Sendable (ConsoleService, HostPort) -> Void
  ) {
    self.address = address
    console = Console(
      .codes(codes, host: host), isReadOnly: isReadOnly, principal: principal, traceURL: traceURL,
      secret: Console.secret())
    calls = OwnCalls.calls(connection, clocks)
    (self.clocks, self.logger, self.onListening) = (clocks, logger, onListening)
  }

  /// Where the console usually is.
  package static let defaultAddress = HostPort(host: "127.0.0.1", port: 7430)

  /// The address that signs a browser in once.
  /// - Parameters:
  ///   - bound: where the console listens.
  ///   - page: the page to show, such as `/hosts`.
  ///   - lifetime: how long the code is valid; `nil` until it is used.
  package func signIn(
    at bound: HostPort, page: String? = nil, lasting lifetime: Duration? = OneTimeCodes.lifetime
  ) -> String {
    let login = Link("login", query: [("to", page)])
    return "http://\(host):\(bound.port)" + login.text + "#" + codes.issue(at: clocks.date(), lasting: lifetime)
  }

  /// Serves until the graceful shutdown.
  /// - Throws: `ListenError` if it cannot listen on the address.
  package func run() async throws {
    do {
      try await serve(at: address ?? Self.defaultAddress)
    } catch is ListenError where address == nil {
      try await serve(at: HostPort(host: Self.defaultAddress.host, port: 0))
    }
  }

  private func serve(at address: HostPort) async throws {
    try await HTTPService(
      .own(address), readiness: { .ready }, logger: logger, routes: { console.add(to: $0, calls) },
      onListening: { bound in bound.map { onListening(self, $0) } }
    ).run()
  }
}
