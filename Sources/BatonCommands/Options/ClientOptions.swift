import ArgumentParser
import BatonCoordinator

/// The options of every command that talks to a coordinator.
struct ClientOptions: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp(
      "Where the coordinator listens. Default: BATON_COORDINATOR, else 127.0.0.1:7420.", valueName: "host:port"))
  var coordinator: String?

  func target(in environment: CommandEnvironment) -> ConnectionTarget {
    ConnectionTarget(
      endpoint: coordinator ?? environment.variable("BATON_COORDINATOR") ?? ConnectionTarget.defaultEndpoint,
      tokenFile: environment.variable("BATON_TOKEN_FILE"))
  }

  /// Connects to the coordinator and calls `body` once. `Backend.connect` says what it throws.
  func connect<Result: Sendable>(
    _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    let environment = CommandEnvironment.current
    return try await environment.backend.connect(target(in: environment), body)
  }
}
