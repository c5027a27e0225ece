import BatonModel
import BatonProtobuf
import SwiftProtobuf

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension JobResult {
  /// - Throws: `WireError` if the bytes are too many, or no JSON.
  package init(wire bytes: Data) throws(WireError) {
    try WireLimits.result.check(bytes.count)
    do throws(JobResultProblem) {
      try self.init(Array(bytes))
    } catch {
      throw WireError("\(error)")
    }
  }
}

extension RequestInput {
  var proto: Baton_V1_RequestInput {
    .with {
      ($0.identifier, $0.request, $0.state) = (identifier.rawValue, Int64(number), state.rawValue)
      if let result { $0.result = Data(result.json) }
      $0.shards = shards.map { one in
        .with { ($0.shard, $0.result) = (Int32(one.shard), Data(one.result.json)) }
      }
      $0.isCut = isCut
    }
  }

  init(_ proto: Baton_V1_RequestInput) throws {
    guard let state = RequestState(rawValue: proto.state), state.isEnded, (1...Int64(Int32.max)).contains(proto.request)
    else { throw WireError("an input of a launch has the state '\(proto.state)' or the number \(proto.request)") }
    self.init(
      try JobIdentifier(wire: proto.identifier), number: Int(proto.request), state: state,
      result: proto.hasResult ? try JobResult(wire: proto.result) : nil,
      shards: try proto.shards.map { ShardResult(shard: Int($0.shard), result: try JobResult(wire: $0.result)) },
      isCut: proto.isCut)
  }
}
