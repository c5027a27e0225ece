import BatonModel
import BatonProtobuf
import SwiftProtobuf

extension NamespaceReports {
  var proto: Baton_V1_NamespacesReply {
    .with {
      $0.namespaces = namespaces.map(\.proto)
      $0.halfLife = useHalfLife.nanoseconds
    }
  }

  init(_ proto: Baton_V1_NamespacesReply) {
    self.init(proto.namespaces.map(NamespaceReport.init), useHalfLife: .nanoseconds(proto.halfLife))
  }
}

extension NamespaceReport {
  fileprivate var proto: Baton_V1_NamespacesReply.Namespace {
    let quotas = namespace.quotas
    return .with {
      $0.prefix = namespace.prefix
      if let owner = namespace.owner { $0.owner = owner.rawValue }
      $0.weight = Int64(namespace.weight)
      if let use { $0.use = use }
      $0.pending = .of(pending, limit: quotas.pending)
      $0.running = .of(running, limit: quotas.running)
      $0.slots = .of(slots, limit: quotas.slots)
      $0.gpus = .of(gpus, limit: quotas.gpus)
      $0.day.used = usedToday.nanoseconds
      if let allowance = quotas.dailyAllowance { $0.day.limit = allowance.nanoseconds }
    }
  }

  fileprivate init(_ proto: Baton_V1_NamespacesReply.Namespace) {
    var namespace = Namespace(
      proto.prefix, owner: proto.hasOwner ? PrincipalPattern(proto.owner) : nil, weight: Int(proto.weight))
    namespace.quotas.pending = proto.pending.quota
    namespace.quotas.running = proto.running.quota
    namespace.quotas.slots = proto.slots.quota
    namespace.quotas.gpus = proto.gpus.quota
    if proto.day.hasLimit { namespace.quotas.dailyAllowance = .nanoseconds(proto.day.limit) }
    self.init(
      namespace, use: proto.hasUse ? proto.use : nil, pending: Int(proto.pending.used),
      running: Int(proto.running.used), slots: Int(proto.slots.used), gpus: Int(proto.gpus.used),
      usedToday: .nanoseconds(proto.day.used))
  }
}

extension Baton_V1_NamespacesReply.Amount {
  fileprivate static func of(_ used: Int, limit: Int?) -> Self {
    .with {
      $0.used = Int64(used)
      if let limit { $0.limit = Int64(limit) }
    }
  }

  fileprivate var quota: Int? { hasLimit ? Int(limit) : nil }
}

extension Explanation.NamespaceStanding {
  var proto: Baton_V1_ExplainReply.Namespace {
    .with {
      ($0.prefix, $0.weight, $0.use, $0.useOfAll) = (prefix, Int64(weight), use, useOfAll)
      $0.ahead = ahead
    }
  }

  init(_ proto: Baton_V1_ExplainReply.Namespace) {
    self.init(
      prefix: proto.prefix, weight: Int(proto.weight), use: proto.use, useOfAll: proto.useOfAll, ahead: proto.ahead)
  }
}
