import BatonModel
package import BatonWire
import Foundation
package import GRPCCore

/// What each method of gRPC permits to whom, for tests that call all of them.
package enum MethodMatrix {
  /// Who calls. A credential has one scope.
  package enum Identity: String, CaseIterable {
    case nobody, wrongToken, ownersToken, ended, revoked
    case read, logs, submit, operate, define, admin, metrics
  }

  /// What each method permits, by its name in `baton.proto`. It is written here once more, and by hand, so that a
  /// changed option in the proto file is noticed.
  package static let table: [String: Set<Identity>] = {
    let every: Set<Identity> = [.read, .logs, .submit, .operate, .define, .admin, .metrics]
    let reading = every.subtracting([.metrics])
    let commanding: Set<Identity> = [.operate, .admin]
    let own: Set<Identity> = [.submit, .operate, .admin]
    return [
      "Enrolment/Join": Set(Identity.allCases), "Enrolment/Rejoin": Set(Identity.allCases),
      "Workers/Connect": [], "Workers/ReportDeath": [], "Workers/Renew": [], "Operators/MoveStore": [],
      "Operators/WhoAmI": every, "Operators/Fleet": every,
      "Operators/List": reading, "Operators/Show": reading, "Operators/Watch": reading, "Operators/Explain": reading,
      "Operators/ExplainPages": reading, "Operators/Trace": reading, "Operators/Hosts": reading,
      "Operators/HostPages": reading, "Operators/Coordinators": reading, "Operators/Shards": reading,
      "Operators/Batches": reading,
      "Operators/Namespaces": reading, "Operators/Transfers": reading, "Operators/CancelTransfer": commanding,
      "Operators/Notifications": reading, "Operators/TestReceiver": commanding,
      "Operators/Standing": reading, "Operators/FindHosts": reading, "Operators/ExplainGroups": reading,
      "Operators/HostHistory": reading, "Operators/Versions": reading, "Operators/Queue": reading,
      "Operators/Changes": reading,
      "Operators/AbleHosts": reading, "Operators/Prune": commanding, "Operators/ForgetGoneHost": [.admin],
      "Operators/Definitions": reading, "Operators/RequestDefinition": reading,
      "Operators/Logs": [.logs, .submit, .operate, .admin],
      "Operators/Submit": own, "Operators/SubmitFlow": own, "Operators/Cancel": own, "Operators/Retry": own,
      "Operators/Redefine": commanding, "Operators/SetSpread": commanding,
      "Operators/SetSchedules": commanding, "Operators/Backfill": commanding, "Operators/StopBackfill": commanding,
      "Operators/SetLimit": commanding, "Operators/Limits": reading,
      "Operators/SetPriority": commanding, "Operators/Drain": commanding,
      "Operators/Pause": commanding,
      "Operators/Evict": commanding, "Operators/SimulateLaunch": commanding,
      "Operators/SimulateExpiry": commanding, "Operators/SimulateConditions": commanding,
      "Operators/SimulateTransfer": commanding,
      "Operators/Apply": [.define, .admin], "Operators/Remove": [.define, .admin],
      "Operators/Backup": [.admin], "Operators/ForgetHost": [.admin], "Operators/InviteHost": [.admin],
      "Operators/WaitingHosts": [.admin], "Operators/ApproveHost": [.admin], "Operators/RotateRoot": [.admin],
      "Operators/RevokeHost": [.admin], "Operators/CreateCredential": [.admin], "Operators/Credentials": [.admin],
      "Operators/RevokeCredential": [.admin], "Operators/Audit": [.admin], "Operators/VerifyAudit": [.admin],
    ]
  }()

  /// The methods in `baton.proto`.
  package static let methods: [String] = {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/BatonProtobuf/baton.proto")
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    var (service, methods) = ("", [String]())
    for line in text.split(separator: "\n") {
      if let match = line.wholeMatch(of: /service (\w+) \{/) { service = String(match.1) }
      if let match = line.prefixMatch(of: /[ ]+rpc (\w+)\(/) { methods.append("\(service)/\(match.1)") }
    }
    return methods
  }()

  /// Calls a method with an empty message, over a connection of its own. A connection that a busy machine has not made
  /// in time says nothing of the method, so the call is made up to five times.
  /// - Returns: the status; `nil` if the call succeeded.
  package static func code(
    of method: String, _ authorization: String?, at endpoint: HostPort, _ trust: ClientTrust
  ) async throws -> RPCError.Code? {
    var last: RPCError.Code?
    for _ in 0..<5 {
      last = try await code(of: method) { body in
        try await CoordinatorClient.withSecureClient(endpoint, trust) { client, _ in
          try await body(client, authorization)
        }
      }
      guard last == .unavailable else { break }
    }
    return last
  }

  /// Calls methods with empty messages, over one connection.
  /// - Returns: the status of each; `nil` if the call succeeded.
  package static func codes(
    of methods: [String], _ authorization: String?, at endpoint: HostPort, _ trust: ClientTrust
  ) async throws -> [(method: String, code: RPCError.Code?)] {
    try await CoordinatorClient.withSecureClient(endpoint, trust) { client, _ in
      var codes: [(method: String, code: RPCError.Code?)] = []
      for method in methods {
        codes.append((method, try await code(of: method) { body in try await body(client, authorization) }))
      }
      return codes
    }
  }

  /// A call with a client, and with what the client shows.
  package typealias Call = @Sendable (GRPCClient<CoordinatorClient.Transport>, String?) async throws -> Void

  /// - Parameter connected: makes the call with a client of its own.
  package static func code(
    of method: String, _ connected: (@escaping Call) async throws -> Void
  ) async throws -> RPCError.Code? {
    let parts = method.split(separator: "/").map(String.init)
    var options = CoordinatorClient.callOptions
    options.timeout = .seconds(60)
    do {
      try await connected { [options] client, authorization in
        var metadata = Metadata()
        if let authorization { metadata.addString(authorization, forKey: "authorization") }
        try await client.serverStreaming(
          request: ClientRequest(message: [], metadata: metadata),
          descriptor: MethodDescriptor(
            fullyQualifiedService: "baton.v1.\(parts[0])", method: parts[1], type: .serverStreaming),
          serializer: RawMessages(), deserializer: RawMessages(), options: options
        ) { response in for try await _ in response.messages { return } }
      }
      return nil
    } catch let error as RPCError {
      return error.code
    }
  }

  private struct RawMessages: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
      bytes.withUnsafeBytes { Array($0) }
    }
  }
}
