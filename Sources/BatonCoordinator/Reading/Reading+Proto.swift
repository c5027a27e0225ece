import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf

extension ExplainedGroups {
  /// - Parameter explanation: the explanation that has these groups.
  func proto(of explanation: Explanation) throws -> Baton_V1_ExplainGroupsReply {
    let whole = try explanation.fittingIntoOneMessage
    return .with {
      $0.explanation = whole
      $0.hosts = Int64(hosts)
      $0.rows = rows.map { row in
        .with { ($0.code, $0.hosts, $0.alone) = (row.code, Int64(row.hosts), Int64(row.alone)) }
      }
      $0.groups = groups.map { group in
        .with { ($0.codes, $0.names, $0.hosts) = (group.codes, group.names.map(\.rawValue), Int64(group.count)) }
      }
      $0.moreGroups = Int64(moreGroups)
    }
  }

  init(_ proto: Baton_V1_ExplainGroupsReply) {
    self.init(
      hosts: Int(clamping: proto.hosts),
      rows: proto.rows.map { Row(code: $0.code, hosts: Int(clamping: $0.hosts), alone: Int(clamping: $0.alone)) },
      groups: proto.groups.map {
        Group(codes: $0.codes, names: $0.names.map { HostName($0) }, count: Int(clamping: $0.hosts))
      }, moreGroups: Int(clamping: proto.moreGroups))
  }
}

extension PruneSelection {
  init(_ proto: Baton_V1_PruneRequest) throws {
    try WireLimits.states.check(proto.states.count)
    self.init(
      pattern: proto.hasPattern ? try IdentifierPattern(wire: proto.pattern) : nil,
      states: Set(
        try proto.states.map { text in
          guard let state = RequestState(rawValue: text), state.isEnded else {
            throw WireError("'\(text.escapedOnOneLine)' is not a state in which requests have ended")
          }
          return state
        }), endedFor: min(max(.nanoseconds(proto.endedFor), .zero), WireLimits.longest))
  }

  func proto(isRehearsal: Bool) -> Baton_V1_PruneRequest {
    .with {
      if let pattern { $0.pattern = pattern.rawValue }
      $0.states = states.map(\.rawValue).sorted()
      ($0.endedFor, $0.isRehearsal) = (endedFor.nanoseconds, isRehearsal)
    }
  }
}

extension PruneAnswer {
  var proto: Baton_V1_PruneReply {
    .with {
      $0.counts = RequestState.allCases.compactMap { state in
        counts[state].map { count in .with { ($0.state, $0.count) = (state.rawValue, Int64(count)) } }
      }
      $0.hasMore_p = hasMore
    }
  }

  init(_ proto: Baton_V1_PruneReply) {
    let counts = proto.counts.compactMap { one in
      RequestState(rawValue: one.state).map { ($0, Int(clamping: one.count)) }
    }
    self.init(counts: Dictionary(counts, uniquingKeysWith: { first, _ in first }), hasMore: proto.hasMore_p)
  }
}

extension DefinitionVersion {
  var proto: Baton_V1_VersionsReply.Version {
    get throws {
      let json = try definition.json()
      return .with {
        ($0.number, $0.definition, $0.json) = (Int64(number), id.rawValue, json)
        ($0.appliedAt, $0.appliedBy) = (appliedAt.nanoseconds, appliedBy)
      }
    }
  }

  init(_ proto: Baton_V1_VersionsReply.Version) throws {
    self.init(
      number: Int(clamping: proto.number), id: DefinitionID(proto.definition),
      definition: try Definition(json: proto.json), appliedAt: Timestamp(nanoseconds: proto.appliedAt),
      appliedBy: proto.appliedBy)
  }
}

extension QueueReport {
  var proto: Baton_V1_QueueReply {
    .with {
      $0.classes = classes.map(\.proto)
      $0.moreClasses = Int64(moreClasses)
    }
  }

  init(_ proto: Baton_V1_QueueReply) throws {
    self.init(classes: try proto.classes.map { try Class($0) }, moreClasses: Int(clamping: proto.moreClasses))
  }
}

extension QueueReport.Class {
  fileprivate var proto: Baton_V1_QueueReply.Class {
    .with {
      ($0.pattern, $0.priority, $0.hasRecentUse_p) = (pattern.rawValue, priority.name, hasRecentUse)
      if let countsAs { $0.countsAs = countsAs.name }
      $0.ready = Int64(ready)
      if let oldest { $0.oldest = oldest.nanoseconds }
      if let obstacle { $0.obstacle = obstacle }
      if let obstacleHosts { $0.obstacleHosts = Int64(obstacleHosts) }
      $0.keepsEarlier = keepsEarlier
      $0.next = next.map { next in
        .with {
          ($0.request, $0.identifier) = (next.request.rawValue, next.identifier.rawValue)
          ($0.number, $0.shard) = (Int64(next.number), Int32(clamping: next.shard))
          if let readyAt = next.readyAt { $0.readyAt = readyAt.nanoseconds }
        }
      }
    }
  }

  fileprivate init(_ proto: Baton_V1_QueueReply.Class) throws {
    guard let priority = Priority(name: proto.priority) else { throw WireError("unknown priority '\(proto.priority)'") }
    self.init(
      pattern: try IdentifierPattern(wire: proto.pattern), priority: priority,
      countsAs: proto.hasCountsAs ? Priority(name: proto.countsAs) : nil, hasRecentUse: proto.hasRecentUse_p,
      ready: Int(clamping: proto.ready), oldest: proto.hasOldest ? Timestamp(nanoseconds: proto.oldest) : nil,
      obstacle: proto.hasObstacle ? proto.obstacle : nil,
      obstacleHosts: proto.hasObstacleHosts ? Int(clamping: proto.obstacleHosts) : nil,
      next: try proto.next.map {
        QueuedClass.Next(
          request: RequestID($0.request), identifier: try JobIdentifier(wire: $0.identifier),
          number: Int(clamping: $0.number), shard: Int($0.shard),
          readyAt: $0.hasReadyAt ? Timestamp(nanoseconds: $0.readyAt) : nil)
      }, keepsEarlier: proto.keepsEarlier)
  }
}

extension AbleHosts {
  var proto: Baton_V1_AbleHostsReply {
    .with {
      $0.able = counts.map { count in
        .with {
          ($0.now, $0.ever) = (Int64(count.now), Int64(count.ever))
          $0.obstacles = count.obstacles.map { obstacle in
            .with {
              $0.code = obstacle.code
              if let hosts = obstacle.hosts { $0.hosts = Int64(hosts) }
            }
          }
        }
      }
      $0.hosts = Int64(hosts)
    }
  }

  init(_ proto: Baton_V1_AbleHostsReply) {
    self.init(
      counts: proto.able.map { able in
        Count(
          now: Int(clamping: able.now), ever: Int(clamping: able.ever),
          obstacles: able.obstacles.prefix(Self.mostObstacles).map {
            Obstacle(code: $0.code, hosts: $0.hasHosts ? Int(clamping: $0.hosts) : nil)
          })
      },
      hosts: Int(clamping: proto.hosts))
  }
}

extension ProgressCurve {
  var proto: [Baton_V1_ProgressPoint] {
    points.map { point in
      .with { ($0.at, $0.batches, $0.units) = (point.at.nanoseconds, Int64(point.batches), point.units) }
    }
  }

  init(_ proto: [Baton_V1_ProgressPoint]) {
    self.init(
      points: proto.prefix(Self.most).map {
        Point(at: Timestamp(nanoseconds: $0.at), batches: Int(clamping: $0.batches), units: $0.units)
      })
  }
}

extension BatchList {
  var proto: Baton_V1_BatchesReply {
    .with {
      $0.batches = batches.map(\.proto)
      $0.leftOut = Int32(clamping: leftOut)
    }
  }

  init(_ proto: Baton_V1_BatchesReply) throws {
    self.init(try proto.batches.map { try BatchItems($0) }, leftOut: Int(proto.leftOut))
  }
}

extension BatchItems {
  fileprivate var proto: Baton_V1_BatchItems {
    .with {
      if let shard { $0.shard = Int32(shard) }
      ($0.batch, $0.first, $0.count, $0.total) = (
        Int64(batch), Int64(range.lowerBound), Int64(range.count), Int64(total)
      )
      $0.items = items
      if let last { $0.last = last }
    }
  }

  fileprivate init(_ proto: Baton_V1_BatchItems) throws {
    let (end, isTooLarge) = proto.first.addingReportingOverflow(proto.count)
    guard proto.first >= 0, proto.count >= 0, !isTooLarge else {
      throw WireError("batch \(proto.batch) has items that cannot be: \(proto.count) from \(proto.first)")
    }
    self.init(
      shard: proto.hasShard ? Int(proto.shard) : nil, batch: Int(proto.batch), range: Int(proto.first)..<Int(end),
      total: Int(proto.total), items: proto.items, last: proto.hasLast ? proto.last : nil)
  }
}
