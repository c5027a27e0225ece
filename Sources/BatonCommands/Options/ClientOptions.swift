import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonIdentity

/// The options of every command that talks to a coordinator.
struct ClientOptions: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp(
      """
      The coordinator of this user on this machine; of several, separated by commas, the first that answers. \
      Default: BATON_COORDINATOR, else 127.0.0.1:7420.
      """, valueName: "host:port"))
  var coordinator: String?
  @Option(
    help: ArgumentHelp(
      "A fleet that you logged in to (baton login). Default: BATON_FLEET, else 'default', if you logged in.",
      valueName: "name"))
  var fleet: String?

  func validate() throws {
    guard coordinator == nil || fleet == nil else {
      throw ValidationError("Give --coordinator or --fleet: the login of a fleet has the address of its coordinator.")
    }
  }

  /// Flags go before variables, and a named fleet before an address. The fleet 'default' is used if nothing is named.
  func target(in environment: CommandEnvironment) -> ConnectionTarget {
    let address = coordinator ?? environment.variable("BATON_COORDINATOR")
    let choice: ConnectionTarget.Fleet =
      if let fleet = fleet ?? (coordinator == nil ? environment.variable("BATON_FLEET") : nil) {
        .named(fleet)
      } else {
        address == nil ? .preferred : .none
      }
    return ConnectionTarget(
      endpoint: address ?? ConnectionTarget.defaultEndpoint, tokenFile: environment.variable("BATON_TOKEN_FILE"),
      fleet: choice)
  }

  /// Connects to the coordinator and calls `body` once. `Backend.connect` says what it throws.
  func connect<Result: Sendable>(
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    let environment = CommandEnvironment.current
    return try await environment.backend.connect(target(in: environment), body)
  }
}

extension CommandEnvironment {
  /// The folder for this user's configuration.
  var configurationFolder: String {
    get throws {
      guard let folder = UserFolders.configuration({ variables[$0] }) else {
        throw CommandFailure(.usage, "neither XDG_CONFIG_HOME nor HOME says where logins are kept: set one of them")
      }
      return folder
    }
  }
}
