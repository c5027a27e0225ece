package import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A supervisor's word to the coordinator that its worker's process died, so that its launches go on elsewhere at once
/// and not only when the lease runs out.
package struct DeathReport: Sendable {
  package var configuration: WorkerConfiguration
  package var incarnation: Incarnation
  /// The launches had no part in it: another one's overrun ended the process.
  package var isBlameless: Bool

  package init(configuration: WorkerConfiguration, incarnation: Incarnation, isBlameless: Bool) {
    self.configuration = configuration
    self.incarnation = incarnation
    self.isBlameless = isBlameless
  }

  /// Tries until the coordinator has it, or the task is cancelled: the next worker's hello says the same.
  package func send() async {
    guard let endpoint = try? HostPort(parsing: configuration.coordinator), endpoint.isLoopback else { return }
    let report = Baton_V1_DeathReport.with {
      $0.host = configuration.name
      $0.incarnation = incarnation.rawValue
      $0.isBlameless = isBlameless
      // Without it the lease runs out by itself.
      if let secret = try? SecretFile.read(WorkerFolders.secret(data: configuration.dataFolder)) {
        $0.secret = Data(secret)
      }
    }
    while !Task.isCancelled {
      do {
        return try await CoordinatorClient.withClient(endpoint, tokenFile: configuration.tokenFile) {
          client, metadata in
          var options = CoordinatorClient.callOptions
          options.timeout = .seconds(2)
          _ = try await Baton_V1_Workers.Client(wrapping: client)
            .reportDeath(report, metadata: metadata, options: options)
        }
      } catch {
        try? await WorkerClocks.system.sleep(.milliseconds(200))
      }
    }
  }
}
