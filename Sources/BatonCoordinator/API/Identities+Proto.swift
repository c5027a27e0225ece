import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension FleetDescription {
  var proto: Baton_V1_FleetReply {
    .with {
      ($0.fleet, $0.pin) = (fleet, pin.description)
      ($0.workers, $0.operators) = (workers?.description ?? "", operators?.description ?? "")
      $0.https = https?.description ?? ""
      $0.roots = roots.map { Data($0) }
      $0.hostsOfOldRoot = Int32(clamping: hostsOfOldRoot)
      $0.awaitsRestart = awaitsRestart
      $0.awaitedHosts = awaitedHosts.map(\.rawValue)
    }
  }

  init(_ proto: Baton_V1_FleetReply) throws {
    func address(_ text: String) throws -> HostPort? { text.isEmpty ? nil : try HostPort(parsing: text) }
    self.init(
      fleet: proto.fleet, pin: try Pin(parsing: proto.pin), workers: try address(proto.workers),
      operators: try address(proto.operators), https: try address(proto.https), roots: proto.roots.map { Array($0) },
      hostsOfOldRoot: Int(proto.hostsOfOldRoot), awaitsRestart: proto.awaitsRestart,
      awaitedHosts: proto.awaitedHosts.prefix(Self.mostAwaitedHosts).map { HostName($0) })
  }
}

extension WaitingHost {
  var proto: Baton_V1_WaitingHost {
    .with {
      ($0.host, $0.number, $0.peer) = (host.rawValue, number, peer)
      $0.at = at.nanoseconds
      $0.asking = Int32(clamping: asking)
    }
  }

  init(_ proto: Baton_V1_WaitingHost) {
    self.init(
      host: HostName(proto.host), number: proto.number, peer: proto.peer, at: Timestamp(nanoseconds: proto.at),
      asking: max(1, Int(proto.asking)))
  }
}
