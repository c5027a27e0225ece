import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore
import Logging
import SwiftProtobuf
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Renews the certificate of a host that has joined a fleet, over the connection that the worker has with a
/// coordinator. The connection goes on with the certificate that it began with; the next one begins with the new one.
struct Renewal: Sendable {
  let dataFolder: String
  let clocks: Clocks
  let logger: Logger
  /// A random number from 0 to 1 that does not change while the process runs.
  let jitter: Double
  /// The problem that was logged last; `nil` after a renewal. It outlives the connections.
  private let complaints = Complaints()

  init(dataFolder: String, clocks: Clocks, logger: Logger, jitter: Double) {
    (self.dataFolder, self.clocks, self.logger, self.jitter) = (dataFolder, clocks, logger, jitter)
  }

  private final class Complaints: Sendable {
    let last = Mutex<String?>(nil)
  }

  /// Renews the certificate whenever it is due, until the task is cancelled.
  func run(_ workers: Baton_V1_Workers.Client<some ClientTransport>) async throws {
    while true {
      var pause = Duration.seconds(3600)
      if let identity = try? HostIdentity.read(dataFolder: dataFolder) {
        // The wall clock is read again each hour, because it may be set.
        let left = try identity.renewal(jitter: jitter) - clocks.date()
        if left <= .zero {
          // A host whose clock is far ahead would otherwise renew without end.
          pause = await renew(identity, workers) ? .seconds(10) : .seconds(60)
        } else {
          pause = min(pause, left)
        }
      }
      try await clocks.sleep(max(pause, .milliseconds(10)))
    }
  }

  /// Returns whether there is a new certificate. An attempt that failed is made again.
  private func renew(
    _ identity: HostIdentity, _ workers: Baton_V1_Workers.Client<some ClientTransport>
  ) async -> Bool {
    do {
      // A new key each time: one that was copied from a disk is of use only until the next renewal.
      let key = HostKey()
      let request = try key.request()
      let reply = try await workers.renew(.with { $0.request = Data(request) }, options: Self.options)
      try take(reply, for: identity, key)
      complaints.last.withLock { $0 = nil }
      logger.info("the host's certificate was renewed")
      return true
    } catch {
      // The end of the connection ends the attempt too, and the worker says why the connection ended.
      if Task.isCancelled || error is CancellationError { return false }
      // The connection is refused for the same reason, and says so.
      if (error as? RPCError)?.code == .unauthenticated { return false }
      complain("the host's certificate cannot be renewed, and is valid for now: \(Self.words(error))")
      return false
    }
  }

  /// Gets another certificate if the present one has ended, which no coordinator accepts for a connection any more. The
  /// host proves with the key of the old one who it is.
  /// - Throws: `ConnectionError` that says why there is none.
  func renewIfEnded() async throws {
    guard let identity = try HostIdentity.read(dataFolder: dataFolder), let enrolment = identity.enrolment,
      clocks.date() > (try identity.parsedCertificate).end
    else { return }
    do {
      let key = HostKey()
      let request = try key.request()
      let rejoin = Baton_V1_RejoinRequest.with {
        $0.certificate = Data((try? identity.parsedCertificate.der) ?? [])
        $0.request = Data(request)
        $0.signature = Data((try? HostKey(pem: identity.key).signature(of: request)) ?? [])
      }
      let reply = try await CoordinatorClient.withSecureClient(
        try HostPort(parsing: enrolment), .rejoining(identity)
      ) { client, _ in
        try await Baton_V1_Enrolment.Client(wrapping: client).rejoin(rejoin, options: Self.options)
      }
      try take(reply, for: identity, key)
      logger.notice("the host's certificate had ended, and the coordinator gave it another one")
    } catch {
      throw ConnectionError(
        "the host's certificate has ended, and \(enrolment) gives it no other: \(Self.words(error))",
        isRefusedCertificate: Self.isRefusal(error))
    }
  }

  /// Whether the coordinator has answered that the host gets no certificate, or not now.
  private static func isRefusal(_ error: any Error) -> Bool {
    guard let error = error as? RPCError else { return (error as? LinkError)?.isRefusedCertificate ?? false }
    return [.permissionDenied, .unauthenticated, .invalidArgument, .resourceExhausted].contains(error.code)
  }

  /// The error for people. The text of an error of a call also has names of its library.
  private static func words(_ error: any Error) -> String { (error as? RPCError)?.message ?? "\(error)" }

  /// Logs a problem, unless it is the one that was logged last.
  private func complain(_ problem: String) {
    let isNews = complaints.last.withLock { last in
      defer { last = problem }
      return last != problem
    }
    if isNews { logger.warning("\(problem)") }
  }

  private static var options: CallOptions {
    var options = CoordinatorClient.callOptions
    options.timeout = .seconds(30)
    return options
  }

  private func take(_ reply: Baton_V1_RenewReply, for identity: HostIdentity, _ key: HostKey) throws {
    var renewed = identity
    try renewed.take(
      key,
      HostIdentity.Answer(
        certificate: Array(reply.certificate), serverCertificate: Array(reply.serverCertificate),
        roots: reply.roots.map { Array($0) }))
    try renewed.write(dataFolder: dataFolder)
  }
}
