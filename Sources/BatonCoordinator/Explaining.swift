package import BatonModel
package import BatonStore

/// What `explain` makes of the obstacles: the same ones that the dispatcher decides with, and what to do about them.
package struct Explaining {
  package var record: RequestRecord
  /// Times on the wall clock.
  package var obstacles: [HostObstacle]
  package var hosts: [HostName: (host: Host, lastSeenAt: Timestamp?)]
  package var position: Int?

  package init(
    record: RequestRecord, obstacles: [HostObstacle], hosts: [HostName: (host: Host, lastSeenAt: Timestamp?)],
    position: Int? = nil
  ) {
    self.record = record
    self.obstacles = obstacles
    self.hosts = hosts
    self.position = position
  }

  package var explanation: Explanation {
    Explanation(
      record: record, verdict: verdict, lines: obstacles.map(line), position: position, advice: advice)
  }

  private func line(_ one: HostObstacle) -> Explanation.Line {
    let known = one.host.flatMap { hosts[$0] }
    let evidence = known.flatMap { Policy.evidence(of: one.obstacle, in: $0.host.conditions) }
    return Explanation.Line(
      host: one.host, code: one.obstacle.code, text: one.obstacle.text, remedy: remedy(of: one.obstacle, on: one.host),
      isPermanent: one.obstacle.isPermanent, source: evidence?.source, raw: evidence?.raw,
      age: evidence?.age, reportedAt: known?.lastSeenAt, clearsAt: one.obstacle.clearsAt)
  }

  /// With the names of the host and of the job in it. What is simulated ends with the simulation.
  private func remedy(of obstacle: Obstacle, on host: HostName?) -> String {
    let source = host.flatMap { hosts[$0] }.flatMap { Policy.evidence(of: obstacle, in: $0.host.conditions) }?.source
    let isSimulated = source == ConditionOverrides.source
    return (isSimulated ? "baton simulate conditions HOST --end" : obstacle.remedy)
      .filling("IDENTIFIER", with: record.identifier.rawValue).filling("HOST", with: host?.rawValue ?? "HOST")
  }

  private var verdict: Explanation.Verdict {
    if record.state == .running { return .running }
    if record.state.isEnded { return .ended }
    let impossible = Set(obstacles.filter(\.obstacle.isPermanent).compactMap(\.host))
    return !hosts.isEmpty && Set(hosts.keys).subtracting(impossible).isEmpty ? .impossible : .waiting
  }

  // MARK: Advice

  private var common: [Obstacle] { obstacles.filter { $0.host == nil }.map(\.obstacle) }

  /// The host that least keeps from taking it: what never changes by itself weighs most.
  private var nearest: (name: HostName, obstacles: [Obstacle])? {
    hosts.keys.sorted()
      .map { name in (name: name, obstacles: obstacles.filter { $0.host == name }.map(\.obstacle)) }
      .min { Self.weight($0.obstacles) < Self.weight($1.obstacles) }
  }

  private static func weight(_ obstacles: [Obstacle]) -> (Int, Int) {
    (obstacles.count, obstacles.filter(\.isPermanent).count)
  }

  /// The one change that would start it, or as few as there are.
  private var advice: String {
    guard record.state.isPending else { return "" }
    let host = nearest
    // Without a host there is nothing to change on one; `noHosts` says so.
    let changes =
      common.filter { !isCovered($0, by: host?.obstacles ?? []) }.map { change($0, on: nil) }
      + (host?.obstacles ?? []).map { "\(host.map { "on \($0.name): " } ?? "")\(change($0, on: host?.name))" }
    switch changes.count {
    case 0: return "nothing keeps it from starting: it starts in a moment"
    case 1: return "one change starts it: \(changes[0])"
    default: return "\(changes.count) changes start it: " + changes.joined(separator: "; ")
    }
  }

  /// The fleet's lack of GPUs is the host's lack of them.
  private func isCovered(_ obstacle: Obstacle, by others: [Obstacle]) -> Bool {
    guard case .noHostHasGPU = obstacle else { return false }
    return others.contains { if case .hostHasNoGPU = $0 { true } else { false } }
  }

  private func change(_ obstacle: Obstacle, on host: HostName?) -> String {
    let remedy = remedy(of: obstacle, on: host)
    return obstacle.clearsAt == nil ? remedy : "\(remedy) (\(obstacle.code) ends by itself)"
  }
}

extension String {
  /// The text with a word in capitals replaced, where it stands as a word.
  fileprivate func filling(_ word: String, with value: String) -> String {
    split(separator: " ", omittingEmptySubsequences: false).map { part in
      part == word ? value : part.hasPrefix(word + ",") ? value + part.dropFirst(word.count) : String(part)
    }.joined(separator: " ")
  }
}
