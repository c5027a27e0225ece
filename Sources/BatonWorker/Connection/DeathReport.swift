import BatonBase
import BatonIdentity
package import BatonModel
import BatonProcess
import BatonProtobuf
import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A supervisor's report to the coordinator that its worker's process has died. With it the launches go on elsewhere at
/// once, and not only when the lease runs out (promise P6).
package struct DeathReport: Sendable {
  package var configuration: WorkerConfiguration
  /// The incarnation of the process that died.
  package var incarnation: Incarnation
  /// `true` if the worker ended itself because a handler ignored its deadline: the other launches of the process are
  /// then not to blame for its end.
  package var isBlameless: Bool

  package init(configuration: WorkerConfiguration, incarnation: Incarnation, isBlameless: Bool) {
    self.configuration = configuration
    self.incarnation = incarnation
    self.isBlameless = isBlameless
  }

  /// Sends the report, and tries again until a coordinator has accepted it or the task is cancelled. The addresses of
  /// the configuration are tried one after the other, because the supervisor does not know which of them the worker was
  /// connected to. After a cancellation the hello of the next worker tells the coordinator the same.
  package func send() async {
    let identity = try? HostIdentity.read(dataFolder: configuration.dataFolder)
    guard let addresses = try? CoordinatorAddresses(parsing: configuration.coordinator).all,
      identity != nil || addresses.allSatisfy({ $0.refusal == nil })
    else { return }
    let report = Baton_V1_DeathReport.with {
      $0.host = configuration.name
      $0.incarnation = incarnation.rawValue
      $0.isBlameless = isBlameless
      // Without the secret the coordinator does not accept the report. The lease then runs out by itself.
      if let secret = try? SecretFile.read(WorkerFolders.secret(data: configuration.dataFolder)) {
        $0.secret = Data(secret)
      }
    }
    var options = CoordinatorClient.callOptions
    options.timeout = .seconds(2)
    await Self.untilAccepted(by: addresses, Clocks.system) { [options] address in
      if let identity {
        try await CoordinatorClient.withSecureClient(address, .host(identity)) { client, _ in
          _ = try await Baton_V1_Workers.Client(wrapping: client).reportDeath(report, options: options)
        }
      } else {
        try await CoordinatorClient.withClient(address, tokenFile: configuration.tokenFile) { client, metadata in
          _ = try await Baton_V1_Workers.Client(wrapping: client)
            .reportDeath(report, metadata: metadata, options: options)
        }
      }
    }
  }

  /// Tries the addresses one after the other, and again from the first, until an attempt does not throw or the task is
  /// cancelled. After each round it pauses, so that it does not use up a processor while no coordinator runs.
  static func untilAccepted(
    by addresses: [HostPort], _ clocks: Clocks, _ attempt: (HostPort) async throws -> Void
  ) async {
    while !Task.isCancelled {
      for address in addresses where !Task.isCancelled {
        do {
          return try await attempt(address)
        } catch {
          continue
        }
      }
      try? await clocks.sleep(.milliseconds(200))
    }
  }
}
