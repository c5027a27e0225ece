import BatonCoordinator
import BatonIdentity
import BatonModel
import BatonWire
import BatonWorker
import Foundation

/// Whether the fleet under test speaks TLS, and how its workers and operators come to it then.
enum TLS {
  /// Set in this process and all processes of the fleet.
  static let variable = "BATON_BENCHMARK_TLS"
  static var isOn: Bool { ProcessInfo.processInfo.environment[variable] != nil }

  /// Lets a worker join: its identity is in the data folder afterwards.
  static func join(_ name: String, data: String, port: Int) async throws {
    let invited = try await Fleet.withOwnClient(port: port) { api in
      try await api.invite(HostName(name), for: .seconds(900), by: "bench", needsApproval: false)
    }
    guard let operators = invited.fleet.operators else { fatalError("the coordinator serves no operators") }
    let identity = try await Enrolment(endpoint: operators, pin: invited.fleet.pin, token: invited.token)
      .join(with: HostKey())
    try FileManager.default.createDirectory(
      atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try identity.write(dataFolder: data)
  }

  /// Runs `body` as an operator who has logged in.
  static func withClient<Result: Sendable>(
    port: Int, _ body: @escaping @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    let created = try await Fleet.withOwnClient(port: port) { api in
      try await api.createCredential(CredentialOrder(name: "bench", scopes: [.admin], lifetime: .seconds(86_400)))
    }
    guard let operators = created.fleet.operators, let root = created.fleet.roots.first else {
      fatalError("the coordinator serves no operators")
    }
    let login = try FleetLogin(address: "\(operators)", root: root, token: created.token)
    // The client of the Unix socket runs on the gRPC thread too (`withLoopClient`).
    return try await RPCLoop.run {
      try await CoordinatorClient.withSecureClient(operators, .login(login)) { client, _ in
        try await body(OperatorClient(client: client, token: created.token, endpoint: operators))
      }
    }
  }
}
