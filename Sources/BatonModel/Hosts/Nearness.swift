/// How near a host is to taking a job. Only the nearest hosts give the reasons why a request waits: a host that could
/// not take the job anyway explains nothing.
package enum Nearness: Int, Hashable, Sendable, Comparable, CaseIterable {
  /// The host's worker holds a lease, and every obstacle may pass without a change of the host's configuration, labels
  /// or hardware.
  case mayTakeIt
  /// The host's worker holds no lease. According to its last report, the host could take the job.
  case gone
  /// The host's worker holds a lease, and the host cannot take the job as it is configured: its kinds, handlers,
  /// labels, slots or GPUs do not fit.
  case unfit
  /// The host's worker holds no lease. According to its last report, the host could not take the job either.
  case unfitAndGone

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// The nearness of a host that has these obstacles for a job.
  package init(_ obstacles: [Obstacle]) {
    let isGone = obstacles.contains(.hostGone)
    let isUnfit = obstacles.contains(where: \.saysUnfit)
    self = isUnfit ? isGone ? .unfitAndGone : .unfit : isGone ? .gone : .mayTakeIt
  }

  /// The obstacles that explain why the host is not nearer. For a host that is gone, the obstacles of its last report
  /// are left out, because they may have passed.
  package func reasons(in obstacles: [Obstacle]) -> [Obstacle] {
    switch self {
    case .mayTakeIt: obstacles
    case .gone: obstacles.filter { $0 == .hostGone }
    case .unfit, .unfitAndGone: obstacles.filter(\.saysUnfit)
    }
  }
}

extension Obstacle {
  /// Whether the host cannot take the job until its configuration, its labels or its hardware changes.
  package var saysUnfit: Bool { kind == .missingLabel || isPermanent }
}

/// One obstacle of a wait: its code, and the hosts from which it kept the request.
package struct WaitReason: Hashable, Sendable {
  package var code: String
  /// The first hosts by name, at most `namedHosts`; empty for an obstacle of the request or the fleet.
  package var hosts: [String]
  /// The number of all hosts, including those in `hosts`.
  package var hostCount: Int

  package init(_ code: String, hosts: [String] = [], hostCount: Int? = nil) {
    (self.code, self.hosts, self.hostCount) = (code, hosts, hostCount ?? hosts.count)
  }

  /// How many hosts are named at most.
  package static let namedHosts = 3
}

/// Collects the reasons why a request waits, one host after another. The result does not depend on the order of the
/// hosts.
package struct WaitReasons: Hashable, Sendable {
  /// The best nearness of the hosts so far; `nil` before the first host.
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

  /// The reasons that the nearest hosts give. The reason that concerns the most hosts is first; equal numbers are
  /// sorted by code.
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
