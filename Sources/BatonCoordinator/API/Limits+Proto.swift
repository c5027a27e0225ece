import BatonModel
import BatonProtobuf
import BatonStore
import SwiftProtobuf

extension LimitKey {
  /// - Throws: `OperatorError.invalid` if there is no such kind, or the text is no key.
  init(wire kind: String, _ text: String) throws {
    guard let kind = LimitKind(rawValue: kind) else {
      throw OperatorError.invalid("the kind of a limit is concurrency or rate")
    }
    self.init(kind, text)
    if let problem { throw OperatorError.invalid("the key \(problem)") }
  }
}

extension LimitSetting {
  var proto: Baton_V1_LimitValue {
    .with {
      switch self {
      case .concurrency(let limit): $0.limit = Int64(limit)
      case .rate(let rule):
        ($0.limit, $0.per, $0.burst) = (Int64(rule.limit), rule.per.nanoseconds, Int64(rule.burst))
      }
    }
  }

  /// - Throws: `OperatorError.invalid` if a number is out of its bounds.
  init(wire proto: Baton_V1_LimitValue, of kind: LimitKind) throws {
    self.init(proto, of: kind)
    if let problem { throw OperatorError.invalid(problem) }
  }

  fileprivate init(_ proto: Baton_V1_LimitValue, of kind: LimitKind) {
    switch kind {
    case .concurrency: self = .concurrency(Int(clamping: proto.limit))
    case .rate:
      self = .rate(
        StartRate(
          limit: Int(clamping: proto.limit), per: .nanoseconds(proto.per), burst: Int(clamping: proto.burst)))
    }
  }
}

extension LimitRecord {
  var proto: Baton_V1_Limit {
    .with {
      ($0.kind, $0.key) = (key.kind.rawValue, key.text)
      if let setting { $0.set = setting.proto }
      if let last { $0.last = last.proto }
      ($0.running, $0.waiting) = (Int64(running), Int64(waiting))
      if let nextAt { $0.nextAt = nextAt.nanoseconds }
    }
  }

  init(_ proto: Baton_V1_Limit) throws {
    let key = try LimitKey(wire: proto.kind, proto.key)
    self.init(
      key: key, setting: proto.hasSet ? LimitSetting(proto.set, of: key.kind) : nil,
      last: proto.hasLast ? LimitSetting(proto.last, of: key.kind) : nil, running: Int(clamping: proto.running),
      waiting: Int(clamping: proto.waiting), nextAt: proto.hasNextAt ? Timestamp(nanoseconds: proto.nextAt) : nil)
  }
}

extension LimitObstacle {
  var proto: Baton_V1_LimitWait {
    .with {
      ($0.kind, $0.key, $0.limit) = (key.kind.rawValue, key.text, Int64(limit))
      if let running { $0.running = Int64(running) }
      if let per { $0.per = per.nanoseconds }
      if let position { $0.position = Int64(position) }
    }
  }

  /// - Parameter until: the time of the obstacle; 0 if it has none.
  init?(_ proto: Baton_V1_LimitWait, until: Int64) {
    guard let kind = LimitKind(rawValue: proto.kind) else { return nil }
    self.init(
      key: LimitKey(kind, proto.key), limit: Int(clamping: proto.limit),
      running: proto.hasRunning ? Int(clamping: proto.running) : nil,
      per: proto.hasPer ? .nanoseconds(proto.per) : nil,
      position: proto.hasPosition ? Int(clamping: proto.position) : nil,
      until: until == 0 ? nil : Timestamp(nanoseconds: until))
  }
}
