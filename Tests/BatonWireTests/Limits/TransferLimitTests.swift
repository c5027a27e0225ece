import BatonModel
import BatonProtobuf
import ContractRows
import Foundation
import SwiftProtobuf
import Testing

@testable import BatonWire

/// What a host or a launch says of transfers is held to the limits where it arrives.
@Suite struct TransferLimitTests {
  private static func status(_ index: Int) -> TransferStatus {
    TransferStatus(
      key: TransferKey(request: RequestID(1), index: index), state: .waiting(.turn, until: nil),
      orderedAt: Timestamp(nanoseconds: 0))
  }

  @Test(.refuses(25)) func `a report with one status too many is refused`() throws {
    let most = WireLimits.transferStatuses.most
    var report = TransferReport(statuses: (0..<most).map(Self.status), released: [])
    #expect(try TransferReport(report.proto).statuses.count == most)
    for isOutOfRoom in [true, false, nil] {
      #expect(try TransferReport(TransferReport(isOutOfRoom: isOutOfRoom).proto).isOutOfRoom == isOutOfRoom)
    }
    report.statuses.append(Self.status(most))
    let error = #expect(throws: WireError.self) { try TransferReport(report.proto) }
    #expect(error?.message.hasPrefix(WireLimits.transferStatuses.name) == true)
  }

  @Test(.refuses(25)) func `a checkpoint that adds one transfer too many is refused`() throws {
    let most = WireLimits.transfers.most
    var proto = Baton_V1_Checkpoint.with { $0.launch = LaunchKey(request: RequestID(1), number: 1).proto }
    proto.transfers = Array(repeating: Transfer(url: "https://example.com/a", to: "a").wire, count: most)
    #expect(try Checkpoint(proto).transfers.count == most)
    proto.transfers.append(proto.transfers[0])
    let error = #expect(throws: WireError.self) { try Checkpoint(proto) }
    #expect(error?.message.hasPrefix(WireLimits.transfers.name) == true)
  }

  @Test(.refuses(25)) func `a transfer of too many bytes is refused before it is read`() throws {
    let most = WireLimits.transfer.most
    // Too long to be read, but no JSON either: that each length has its own error shows which check came first.
    let fitting = #expect(throws: WireError.self) { try Transfer(wire: Data(repeating: 0x20, count: most)) }
    let larger = #expect(throws: WireError.self) { try Transfer(wire: Data(repeating: 0x20, count: most + 1)) }
    #expect(fitting?.message.contains("cannot be read") == true)
    #expect(larger?.message.hasPrefix(WireLimits.transfer.name) == true)
  }
}
