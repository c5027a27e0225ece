package import BatonModel
package import BatonStore

/// Builds the answer of `explain`: the obstacles, which are those that the dispatcher decides with, and what to do
/// about them. The caller adds the hosts one by one. Each host is examined once, so the cost is proportional to the
/// size of the fleet.
package struct Explaining {
  package var record: RequestRecord
  package var position: Int?
  package var order: Explanation.Order?
  package var reservation: Explanation.Reservation?
  /// The obstacles of the request and of the fleet, with times on the wall clock.
  private let own: [Obstacle]
  private var hosts: [ExplainedHost] = []
  /// The host with the fewest obstacles for this request, among the hosts that are nearest to taking it.
  private var best: ExplainedHost?
  private var hasFitHost = false
  /// The hosts whose certificates an operator has revoked.
  private var revoked: Set<HostName> = []
  /// How many obstacles were examined.
  package private(set) var steps: Int

  /// - Parameter own: the obstacles that keep the request from starting on any host.
  package init(
    record: RequestRecord, own: [Obstacle], position: Int? = nil, order: Explanation.Order? = nil,
    reservation: Explanation.Reservation? = nil
  ) {
    (self.record, self.own, self.position, self.order) = (record, own, position, order)
    self.reservation = reservation
    steps = own.count
  }

  /// Adds a host.
  /// - Parameters:
  ///   - lastSeenAt: when the host was last heard of.
  ///   - isRevoked: whether an operator has revoked its certificates, so that its worker cannot come back by itself.
  ///   - obstacles: everything that keeps the request off the host, with times on the wall clock.
  package mutating func add(
    _ host: Host, lastSeenAt: Timestamp?, isRevoked: Bool = false, _ obstacles: [Obstacle]
  ) {
    if isRevoked { revoked.insert(host.name) }
    let explained = ExplainedHost(
      host: host, nearness: Nearness(obstacles), obstacles: obstacles, lastSeenAt: lastSeenAt,
      permanent: obstacles.count(where: \.isPermanent))
    steps += obstacles.count
    hosts.append(explained)
    hasFitHost = hasFitHost || explained.permanent == 0
    if best.map({ explained.isBetter(than: $0) }) ?? true { best = explained }
  }

  /// The explanation. The hosts that are nearest to taking the request come first; hosts of equal nearness are sorted
  /// by name.
  package var explanation: Explanation {
    explanation(own.map { line($0) } + sorted.flatMap(lines))
  }

  /// The explanation in which hosts with the same obstacles stand together. Its lines are those of the first host of
  /// each group.
  package var grouped: Explanation {
    let sorted = sorted
    let ordered = sorted.filter(\.obstacles.isEmpty) + sorted.filter { !$0.obstacles.isEmpty }
    let groups = ExplainedGroups(ordered.map { ($0.host.name, $0.obstacles.map(\.code).unique) })
    let examples = Set(groups.groups.compactMap(\.names.first))
    let told = ordered.filter { examples.contains($0.host.name) }.flatMap(lines)
    var explanation = explanation(own.map { line($0) } + told)
    explanation.groups = groups
    return explanation
  }

  /// How many hosts were added.
  package var hostCount: Int { hosts.count }

  private var sorted: [ExplainedHost] {
    hosts.sorted { ($0.nearness, $0.host.name) < ($1.nearness, $1.host.name) }
  }

  private func lines(_ host: ExplainedHost) -> [Explanation.Line] {
    host.obstacles.map { line($0, host.host, host.lastSeenAt) }
  }

  private func explanation(_ lines: [Explanation.Line]) -> Explanation {
    Explanation(
      record: record, verdict: verdict, lines: lines, position: position, advice: advice, order: order,
      reservation: reservation)
  }

  private func line(_ obstacle: Obstacle, _ host: Host? = nil, _ lastSeenAt: Timestamp? = nil) -> Explanation.Line {
    let evidence = host.flatMap { Policy.evidence(of: obstacle, in: $0.conditions) }
    return Explanation.Line(
      host: host?.name, code: obstacle.code, text: obstacle.text, remedy: remedy(of: obstacle, on: host),
      isPermanent: obstacle.isPermanent, source: evidence?.source, raw: evidence?.raw,
      age: evidence?.age, reportedAt: lastSeenAt, clearsAt: obstacle.clearsAt)
  }

  /// The remedy for the obstacle, with the names of the host and of the job. The remedy for a simulated condition is
  /// to end the simulation.
  private func remedy(of obstacle: Obstacle, on host: Host?) -> String {
    let source = host.flatMap { Policy.evidence(of: obstacle, in: $0.conditions) }?.source
    let isSimulated = source == ConditionOverrides.source
    return
      (isSimulated
      ? "baton simulate conditions HOST --end"
      : obstacle.remedy(isRevoked: host.map { revoked.contains($0.name) } ?? false))
      .filling(record.identifier, host?.name)
  }

  private var verdict: Explanation.Verdict {
    if record.state == .running { return .running }
    if record.state.isEnded { return .ended }
    return !hosts.isEmpty && !hasFitHost ? .impossible : .waiting
  }

  // MARK: Advice

  /// The change that would start the request, or the smallest known set of changes.
  private var advice: String {
    guard record.state.isPending else { return "" }
    // Without hosts no change on a host can help; the obstacle `noHosts` says that.
    let onHost = best?.obstacles ?? []
    // One change may take several obstacles away, and is told once.
    let ownChanges = own.filter { !isCovered($0, by: onHost) }.map { change($0, on: nil) }.unique
    let changes =
      ownChanges
      + onHost.map { change($0, on: best?.host) }.unique.filter { !ownChanges.contains($0) }
      .map { "\(best.map { "on \($0.host.name): " } ?? "")\($0)" }
    switch changes.count {
    case 0: return "nothing keeps it from starting: it starts in a moment"
    case 1: return "one change starts it: \(changes[0])"
    default: return "\(changes.count) changes start it: " + changes.joined(separator: "; ")
    }
  }

  /// True if an obstacle of the host already covers a fleet obstacle: the host's lack of GPUs covers the fleet's lack
  /// of GPUs.
  private func isCovered(_ obstacle: Obstacle, by others: [Obstacle]) -> Bool {
    obstacle.kind == .noHostHasGPU && others.contains { $0.kind == .hostHasNoGPU }
  }

  private func change(_ obstacle: Obstacle, on host: Host?) -> String {
    let remedy = remedy(of: obstacle, on: host)
    return obstacle.clearsAt == nil ? remedy : "\(remedy) (\(obstacle.code) ends by itself)"
  }
}

/// A host with its obstacles for a request.
private struct ExplainedHost {
  var host: Host
  var nearness: Nearness
  var obstacles: [Obstacle]
  var lastSeenAt: Timestamp?
  /// How many of the obstacles never clear by themselves.
  var permanent: Int

  func isBetter(than other: ExplainedHost) -> Bool {
    (nearness.rawValue, obstacles.count, permanent, host.name.rawValue)
      < (other.nearness.rawValue, other.obstacles.count, other.permanent, other.host.name.rawValue)
  }
}

extension Obstacle {
  /// What a person can do about it.
  /// - Parameter isRevoked: whether an operator has revoked the certificates of the host.
  func remedy(isRevoked: Bool) -> String {
    kind == .hostGone && isRevoked
      ? "let it join again, because its certificates were revoked: baton host invite HOST" : remedy
  }
}

extension String {
  /// The text with the names of the job and of the host in the place of `IDENTIFIER` and `HOST`.
  func filling(_ identifier: JobIdentifier, _ host: HostName?) -> String {
    filling("IDENTIFIER", with: identifier.rawValue).filling("HOST", with: host?.rawValue ?? "HOST")
  }

  /// The text with the placeholder `word` replaced wherever it is a whole word.
  fileprivate func filling(_ word: String, with value: String) -> String {
    split(separator: " ", omittingEmptySubsequences: false).map { part in
      part == word ? value : part.hasPrefix(word + ",") ? value + part.dropFirst(word.count) : String(part)
    }.joined(separator: " ")
  }
}

extension Array where Element: Hashable {
  /// The elements without repetitions, each at its first place.
  package var unique: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
