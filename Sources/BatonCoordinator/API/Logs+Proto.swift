import BatonModel
import BatonProtobuf
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension LogSelection {
  init(_ proto: Baton_V1_LogsRequest) {
    self.init(
      shards: proto.allShards ? .all : .one(proto.hasShard ? Int(proto.shard) : 0),
      launch: proto.hasLaunch ? Int(proto.launch) : nil, follows: proto.follow,
      tail: proto.hasTail ? Int(max(0, proto.tail)) : nil,
      since: proto.hasSince ? Timestamp(nanoseconds: proto.since) : nil)
  }

  var proto: Baton_V1_LogsRequest {
    .with {
      switch shards {
      case .one(let shard): if shard > 0 { $0.shard = Int32(clamping: shard) }
      case .all: $0.allShards = true
      }
      if let launch { $0.launch = Int32(clamping: launch) }
      $0.follow = follows
      if let tail { $0.tail = Int64(tail) }
      if let since { $0.since = since.nanoseconds }
    }
  }
}

extension LogPiece {
  init(_ proto: Baton_V1_LogsReply) {
    self.init(
      launch: Int(proto.launch), shard: proto.hasShard ? Int(proto.shard) : nil,
      takenAt: proto.hasTakenAt ? Timestamp(nanoseconds: proto.takenAt) : nil, bytes: Array(proto.data))
  }

  var proto: Baton_V1_LogsReply {
    .with {
      $0.launch = Int32(clamping: launch)
      if let shard { $0.shard = Int32(clamping: shard) }
      if let takenAt { $0.takenAt = takenAt.nanoseconds }
      $0.data = Data(bytes)
    }
  }
}
