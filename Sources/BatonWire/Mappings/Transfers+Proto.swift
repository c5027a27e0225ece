import BatonModel
import BatonProtobuf
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Transfers, orders and statuses travel as JSON, as their host keeps them.
extension Encodable {
  var wire: Data {
    guard let data = try? JSONEncoder().encode(self) else {
      preconditionFailure("a transfer cannot be written as JSON: \(self)")
    }
    return data
  }
}

extension Decodable {
  init(wire data: Data) throws {
    do {
      try WireLimits.transfer.check(data.count)
      self = try JSONDecoder().decode(Self.self, from: data)
    } catch is DecodingError {
      throw WireError("a transfer that cannot be read: is the other side of another version?")
    }
  }
}

extension TransferReport {
  var proto: Baton_V1_TransferReport {
    .with {
      $0.statuses = statuses.map(\.wire)
      $0.released = released.map(\.rawValue)
      if let isOutOfRoom { $0.isOutOfRoom = isOutOfRoom }
    }
  }

  init(_ proto: Baton_V1_TransferReport) throws {
    try WireLimits.transferStatuses.check(max(proto.statuses.count, proto.released.count))
    self.init(
      statuses: try proto.statuses.map { try TransferStatus(wire: $0) }, released: proto.released.map(RequestID.init),
      isOutOfRoom: proto.hasIsOutOfRoom ? proto.isOutOfRoom : nil)
  }
}

extension TransferReport {
  /// The report with its texts cut and its numbers brought into range.
  var heldToLimits: TransferReport {
    TransferReport(statuses: statuses.map(\.heldToLimits), released: released, isOutOfRoom: isOutOfRoom)
  }
}

extension TransferStatus {
  fileprivate var heldToLimits: TransferStatus {
    var held = self
    held.bytes = max(0, bytes)
    held.total = total.map { max(0, $0) }
    held.bytesPerSecond = bytesPerSecond.map { max(0, $0) }
    held.attempts = max(0, attempts)
    held.resumedFrom = max(0, resumedFrom)
    held.lastError = lastError?.withoutNUL.cut(toBytes: WireLimits.failure.most)
    held.orderedAt = orderedAt.heldToDates
    held.endedAt = endedAt?.heldToDates
    guard case .ended(let end) = state else { return held }
    switch end {
    case .cancelled: break
    case .failed(let failure):
      held.state = .ended(
        .failed(TransferFailure(failure.code, failure.text.withoutNUL.cut(toBytes: WireLimits.failure.most))))
    case .done(let file):
      let path = Transfer.isPath(file.path) || file.path.utf8.count <= Transfer.maximumPathBytes ? file.path : ""
      held.state = .ended(
        .done(TransferredFile(path: path, bytes: max(0, file.bytes), sha256: file.sha256.cut(toBytes: 64))))
    }
    return held
  }
}

extension Timestamp {
  /// A time that sums with durations do not overflow.
  fileprivate var heldToDates: Timestamp {
    Timestamp(nanoseconds: min(max(nanoseconds, 0), Definition.Limits.datesInSeconds.upperBound * 1_000_000_000))
  }
}
