/// How near a host is to taking a job. Only the nearest hosts say why a request waits: what the others lack would have
/// kept it from them anyway.
package enum Nearness: Int, Hashable, Sendable, Comparable, CaseIterable {
  /// It is there, and what keeps the job off it may pass.
  case mayTakeIt
  /// By its last word it could have, and its worker holds no lease.
  case gone
  /// It is there, and cannot take the job as it is configured: its kinds, handlers, labels, slots or GPUs do not fit.
  case unfit
  case unfitAndGone

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Of a host with these obstacles.
  package init(_ obstacles: [Obstacle]) {
    let isGone = obstacles.contains(.hostGone)
    let isUnfit = obstacles.contains(where: \.saysUnfit)
    self = isUnfit ? isGone ? .unfitAndGone : .unfit : isGone ? .gone : .mayTakeIt
  }

  /// Those of a host's obstacles that say why it is no nearer. What a host that is gone reported last is history.
  package func reasons(in obstacles: [Obstacle]) -> [Obstacle] {
    switch self {
    case .mayTakeIt: obstacles
    case .gone: obstacles.filter { $0 == .hostGone }
    case .unfit, .unfitAndGone: obstacles.filter(\.saysUnfit)
    }
  }
}

extension Obstacle {
  /// The host cannot take the job until its configuration, its labels or its hardware changes.
  package var saysUnfit: Bool { kind == .missingLabel || isPermanent }
}

/// One obstacle of a wait: its code, and the hosts that it kept the request from.
package struct WaitReason: Hashable, Sendable {
  package var code: String
  /// The first of them by name; empty for an obstacle of the request or the fleet.
  package var hosts: [String]
  /// How many hosts there were, the named ones included.
  package var hostCount: Int

  package init(_ code: String, hosts: [String] = [], hostCount: Int? = nil) {
    (self.code, self.hosts, self.hostCount) = (code, hosts, hostCount ?? hosts.count)
  }

  /// So many hosts are named.
  package static let namedHosts = 3
}

/// Gathers, host by host, what keeps a request waiting: one look at each host, whatever their order.
package struct WaitReasons: Hashable, Sendable {
  /// Of the nearest hosts so far.
  package private(set) var nearness: Nearness?
  private var found: [String: WaitReason] = [:]

  package init() {}

  package mutating func add(_ host: HostName, _ obstacles: [Obstacle]) {
    let nearness = Nearness(obstacles)
    if let known = self.nearness, known < nearness { return }
    if self.nearness != nearness { found = [:] }
    self.nearness = nearness
    for code in Set(nearness.reasons(in: obstacles).map(\.code)) {
      found[code, default: WaitReason(code)].add(host.rawValue)
    }
  }

  /// What concerns most hosts first.
  package var reasons: [WaitReason] {
    found.values.sorted { ($1.hostCount, $0.code) < ($0.hostCount, $1.code) }
  }
}

extension WaitReason {
  fileprivate mutating func add(_ host: String) {
    hostCount += 1
    guard hosts.count < Self.namedHosts || host < hosts[hosts.count - 1] else { return }
    hosts.insert(host, at: hosts.firstIndex { host < $0 } ?? hosts.count)
    if hosts.count > Self.namedHosts { hosts.removeLast() }
  }
}
