import BatonBase
package import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A transfer as operators see it.
package struct FleetTransfer: Hashable, Sendable, Codable {
  package var key: TransferKey
  package var identifier: JobIdentifier
  /// The number of the request within its identifier.
  package var request: Int
  package var host: String
  package var transfer: Transfer
  /// The last status that this coordinator knows; `nil` if the host has said nothing.
  package var status: TransferStatus?
  /// Whether a person has cancelled it, and the host has not ended it yet.
  package var isCancelling: Bool
  /// The last launch that was told of the end; `nil` if none was.
  package var told: Int?

  package init(
    key: TransferKey, identifier: JobIdentifier, request: Int, host: String, transfer: Transfer,
    status: TransferStatus? = nil, isCancelling: Bool = false, told: Int? = nil
  ) {
    (self.key, self.identifier, self.request, self.host) = (key, identifier, request, host)
    (self.transfer, self.status, self.isCancelling, self.told) = (transfer, status, isCancelling, told)
  }

  /// How long the rest takes at the present rate; `nil` if that is not known.
  package var timeLeft: Duration? {
    guard let status, let total = status.total, let rate = status.bytesPerSecond, rate > 0, total >= status.bytes else {
      return nil
    }
    return .seconds((total - status.bytes) / rate)
  }
}

package struct FleetTransfers: Hashable, Sendable {
  package var transfers: [FleetTransfer]
  /// Whether there are more than one answer has.
  package var hasMore: Bool

  package init(_ transfers: [FleetTransfer] = [], hasMore: Bool = false) {
    (self.transfers, self.hasMore) = (transfers, hasMore)
  }

  /// The most transfers of one answer.
  static let most = 2_000
}

extension FleetTransfers {
  var proto: Baton_V1_TransfersReply {
    .with { reply in
      reply.transfers = transfers.compactMap { try? JSONEncoder().encode($0) }
      reply.hasMore_p = hasMore
    }
  }

  init(_ proto: Baton_V1_TransfersReply) throws {
    do {
      self.init(
        try proto.transfers.map { try JSONDecoder().decode(FleetTransfer.self, from: $0) }, hasMore: proto.hasMore_p)
    } catch is DecodingError {
      throw WireError("a transfer that cannot be read: is the coordinator of another version?")
    }
  }
}

extension Coordinator {
  package func transfers(on host: HostName?) async throws -> FleetTransfers {
    let most = FleetTransfers.most
    let stored = try await translating { try await self.store.transfers(on: host, limit: most + 1) }
    let transfers = state.withLock { state in
      stored.prefix(most).map { one in
        FleetTransfer(
          key: one.key, identifier: one.identifier, request: one.requestNumber, host: one.host.rawValue,
          transfer: one.transfer, status: one.status ?? state.transfers.live[one.key], isCancelling: one.isCancelling,
          told: one.told)
      }
    }
    return FleetTransfers(transfers, hasMore: stored.count > most)
  }

  package func cancelTransfer(_ key: TransferKey) async throws {
    try await translating { try await self.store.cancelTransfer(key) }
    transferSignal.raise()
  }
}
