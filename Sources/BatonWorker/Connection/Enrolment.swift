import BatonBase
package import BatonIdentity
import BatonModel
import BatonProcess
import BatonProtobuf
package import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The join of a host: it draws a key, proves to the coordinator that it was invited, and gets its name and its
/// certificate.
package struct Enrolment: Sendable {
  /// Where coordinators of the fleet listen for operators and for hosts that join; at least one.
  package var endpoints: [HostPort]
  package var pin: Pin
  package var token: JoinToken

  /// Is called once if an operator has to approve the join, with the number that the operator compares.
  package var onWaiting: @Sendable (String) -> Void = { _ in }
  /// How long after an answer that the host waits it asks again.
  package var pause = Duration.seconds(2)

  package init(endpoint: HostPort, pin: Pin, token: JoinToken) {
    self.init(endpoints: [endpoint], pin: pin, token: token)
  }

  package init(endpoints: [HostPort], pin: Pin, token: JoinToken) {
    (self.endpoints, self.pin, self.token) = (endpoints, pin, token)
  }

  /// How often the same request is sent if its answer does not come.
  private static let attempts = 3

  /// Joins the fleet with `key`, at the first coordinator that answers. An attempt whose answer was lost is repeated
  /// with the same key, which every coordinator of the fleet answers in the same way.
  /// - Throws: `LinkError` if a coordinator is not the pinned fleet's, or none can be reached; `EnrolmentRefusal` if
  ///   the coordinator refuses; `IdentityError` if its answer is wrong.
  package func join(with key: HostKey) async throws -> HostIdentity {
    var silent: [LinkError] = []
    for endpoint in endpoints {
      do {
        return try await join(with: key, at: endpoint)
      } catch let error as LinkError where error.code == .unreachable {
        silent.append(error)
      }
    }
    throw silent.count == 1 ? silent[0] : LinkError.noneAnswers(silent)
  }

  private func join(with key: HostKey, at endpoint: HostPort) async throws -> HostIdentity {
    var attempt = 1
    var isWaiting = false
    while true {
      do {
        if let identity = try await ask(endpoint, with: key) { return identity }
        if !isWaiting { onWaiting(key.number(pin: pin)) }
        (attempt, isWaiting) = (1, true)
        try await Clocks.system.sleep(pause)
      } catch let error as RPCError where [.unavailable, .deadlineExceeded].contains(error.code) {
        guard attempt < Self.attempts else {
          throw LinkError.unanswered(endpoint, error.message)
        }
        attempt += 1
      } catch let error as RPCError {
        throw EnrolmentRefusal(description: error.message)
      }
    }
  }

  /// Asks once. Returns `nil` if the host has to be approved first.
  private func ask(_ endpoint: HostPort, with key: HostKey) async throws -> HostIdentity? {
    let request = Baton_V1_JoinRequest.with {
      $0.invitation = Data(token.id)
      $0.secret = Data(token.secret)
      $0.request = Data((try? key.request()) ?? [])
    }
    return try await CoordinatorClient.withSecureClient(endpoint, .pin(pin)) { client, root in
      guard let root else { throw IdentityError("the coordinator showed no root") }
      var options = CoordinatorClient.callOptions
      options.timeout = .seconds(10)
      let reply = try await Baton_V1_Enrolment.Client(wrapping: client).join(request, options: options)
      if reply.isWaiting { return nil }
      let host = HostName(reply.host)
      guard host.isWellFormed, try FleetAuthority.fleet(of: root) == reply.fleet, (1...65_535).contains(reply.port)
      else {
        throw IdentityError(
          reply.port == 0
            ? "the coordinator does not say where it listens for workers: update it"
            : "the coordinator's answer makes no sense")
      }
      let workers = Self.workers(HostPort(host: endpoint.host, port: Int(reply.port)), reply.otherWorkers)
      var identity = HostIdentity(
        fleet: reply.fleet, host: host, coordinator: workers, key: "", certificate: "", roots: [],
        enrolment: "\(endpoint)")
      let answer = HostIdentity.Answer(
        certificate: Array(reply.certificate), serverCertificate: Array(reply.serverCertificate),
        roots: reply.roots.map { Array($0) })
      guard answer.roots.contains(try root.der) else {
        throw IdentityError("the coordinator's answer has not the root that it showed")
      }
      try identity.take(key, answer)
      return identity
    }
  }

  /// The addresses of all coordinators, separated by commas. What the coordinator says of the others and is no address
  /// is left out.
  private static func workers(_ own: HostPort, _ others: [String]) -> String {
    var all = [own]
    for text in others.prefix(CoordinatorAddresses.maximumCount) where all.count < CoordinatorAddresses.maximumCount {
      if let other = try? HostPort(parsing: text), !all.contains(other) { all.append(other) }
    }
    return all.map(\.description).joined(separator: ",")
  }
}

/// Why a coordinator does not let a host join, in the coordinator's words.
package struct EnrolmentRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String
}
