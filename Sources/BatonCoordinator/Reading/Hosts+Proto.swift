import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf

extension HostFilter {
  init(_ proto: Baton_V1_FindHostsRequest) throws {
    try WireLimits.states.check(proto.states.count)
    try WireLimits.hostTerms.check(proto.labels.count + proto.conditions.count)
    self.init()
    if proto.hasPattern {
      try WireLimits.hostArgument.check(name: proto.pattern)
      guard let pattern = PrincipalPattern(proto.pattern) else { throw WireError("the name of a host is empty") }
      self.pattern = pattern
    }
    states = Set(try proto.states.map { try Self.known($0, HostReport.State.init, "a state of hosts") })
    conditions = Set(try proto.conditions.map { try Self.known($0, Condition.init, "a condition of hosts") })
    labels = try proto.labels.map { text in
      try WireLimits.labelValue.check(name: text)
      guard let label = Label(text) else { throw WireError("a label needs a name") }
      return label
    }
  }

  private static func known<Value>(_ text: String, _ make: (String) -> Value?, _ what: String) throws -> Value {
    guard let value = make(text) else { throw WireError("'\(text.escapedOnOneLine)' is not \(what)") }
    return value
  }

  func proto(after: HostName?, limit: Int) -> Baton_V1_FindHostsRequest {
    .with {
      if let pattern { $0.pattern = pattern.rawValue }
      $0.states = states.map(\.rawValue).sorted()
      $0.labels = labels.map(\.text)
      $0.conditions = conditions.map(\.rawValue).sorted()
      if let after { $0.after = after.rawValue }
      $0.limit = Int32(clamping: limit)
    }
  }
}

extension HostPage {
  /// The part of the page that fits into one message, at least one host. The client asks for the rest.
  var proto: Baton_V1_FindHostsReply {
    get throws {
      var cut = PageCut(hosts.lazy.map(\.proto))
      let (page, isCut) = (try cut.next(), try cut.hasMore())
      return .with {
        $0.hosts = page?.elements ?? []
        $0.hasMore_p = hasMore || isCut
        guard let summary else { return }
        $0.total = Int64(summary.total)
        $0.states = HostReport.State.allCases.compactMap { Self.count($0.rawValue, summary.states[$0]) }
        $0.conditions = HostFilter.Condition.allCases.compactMap { Self.count($0.rawValue, summary.conditions[$0]) }
        ($0.slots, $0.usedSlots) = (Int64(summary.slots), Int64(summary.usedSlots))
      }
    }
  }

  private static func count(_ name: String, _ count: Int?) -> Baton_V1_FindHostsReply.Count? {
    count.map { count in .with { ($0.name, $0.count) = (name, Int64(count)) } }
  }

  /// States and conditions that a newer coordinator has and this version does not know are left out.
  init(_ proto: Baton_V1_FindHostsReply) throws {
    self.init(hosts: try proto.hosts.map { try HostReport($0) }, hasMore: proto.hasMore_p)
    guard proto.hasTotal else { return }
    var summary = HostSummary(
      total: Int(clamping: proto.total), slots: Int(clamping: proto.slots), usedSlots: Int(clamping: proto.usedSlots))
    for one in proto.states {
      if let state = HostReport.State(rawValue: one.name) { summary.states[state] = Int(clamping: one.count) }
    }
    for one in proto.conditions {
      if let condition = HostFilter.Condition(rawValue: one.name) {
        summary.conditions[condition] = Int(clamping: one.count)
      }
    }
    self.summary = summary
  }
}

extension HostHistory {
  /// The pages of the answer, each of which fits into one message: changes first, then launches.
  var pages: [Baton_V1_HostHistoryReply] {
    get throws {
      let changes = try Pages.of(conditions.lazy.map(\.proto)).map { page in
        Baton_V1_HostHistoryReply.with { $0.changes = page.elements }
      }
      let ran = try Pages.of(launches.lazy.map(\.proto)).map { page in
        Baton_V1_HostHistoryReply.with { $0.launches = page.elements }
      }
      return changes + ran
    }
  }

  init(pages: [Baton_V1_HostHistoryReply]) throws {
    self.init(
      conditions: pages.flatMap(\.changes).map { ConditionChange($0) },
      launches: try pages.flatMap(\.launches).map { try HostLaunch($0) })
  }
}

extension ConditionChange {
  fileprivate var proto: Baton_V1_HostHistoryReply.Change {
    .with {
      ($0.number, $0.at, $0.condition) = (number, at.nanoseconds, condition)
      if let value { $0.value = value }
      ($0.source, $0.raw) = (source, raw)
    }
  }

  fileprivate init(_ proto: Baton_V1_HostHistoryReply.Change) {
    self.init(
      number: proto.number, at: Timestamp(nanoseconds: proto.at), condition: proto.condition,
      value: proto.hasValue ? proto.value : nil, source: proto.source, raw: proto.raw)
  }
}

extension HostLaunch {
  fileprivate var proto: Baton_V1_HostHistoryReply.Ran {
    .with {
      ($0.request, $0.identifier, $0.number) = (request.rawValue, identifier.rawValue, Int64(number))
      ($0.shard, $0.launch) = (Int32(clamping: shard), Int32(clamping: launch))
      $0.startedAt = startedAt.nanoseconds
      if let endedAt { $0.endedAt = endedAt.nanoseconds }
      if let outcome { $0.outcome = outcome.rawValue }
      if let reason { $0.reason = reason }
    }
  }

  fileprivate init(_ proto: Baton_V1_HostHistoryReply.Ran) throws {
    self.init(
      request: RequestID(proto.request), identifier: try JobIdentifier(wire: proto.identifier),
      number: Int(clamping: proto.number), shard: Int(proto.shard), launch: Int(proto.launch),
      startedAt: Timestamp(nanoseconds: proto.startedAt),
      endedAt: proto.hasEndedAt ? Timestamp(nanoseconds: proto.endedAt) : nil,
      outcome: proto.hasOutcome ? LaunchOutcome.Kind(rawValue: proto.outcome) : nil,
      reason: proto.hasReason ? proto.reason : nil)
  }
}
