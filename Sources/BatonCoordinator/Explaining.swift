package import BatonModel
package import BatonStore

/// Builds the answer of `explain`: the obstacles, which are those that the dispatcher decides with, and what to do
/// about them. The caller adds the hosts one by one, or hands hosts over that were examined before.
package struct Explaining {
  package var record: RequestRecord
  package var position: Int?
  package var order: Explanation.Order?
  package var reservation: Explanation.Reservation?
  /// The obstacles of the request and of the fleet, with times on the wall clock.
  private let own: [Obstacle]
  private var hosts = ExaminedHosts()

  /// - Parameter own: the obstacles that keep the request from starting on any host.
  package init(
    record: RequestRecord, own: [Obstacle], position: Int? = nil, order: Explanation.Order? = nil,
    reservation: Explanation.Reservation? = nil
  ) {
    (self.record, self.own, self.position, self.order) = (record, own, position, order)
    self.reservation = reservation
  }

  /// - Parameter hosts: every host of the fleet, examined for this request or for one that they treat alike.
  init(
    record: RequestRecord, own: [Obstacle], position: Int?, order: Explanation.Order?,
    reservation: Explanation.Reservation?, hosts: ExaminedHosts
  ) {
    self.init(record: record, own: own, position: position, order: order, reservation: reservation)
    self.hosts = hosts
  }

  /// Adds a host.
  /// - Parameters:
  ///   - lastSeenAt: when the host was last heard of.
  ///   - isRevoked: whether an operator has revoked its certificates, so that its worker cannot come back by itself.
  ///   - obstacles: everything that keeps the request off the host, with times on the wall clock.
  package mutating func add(
    _ host: Host, lastSeenAt: Timestamp?, isRevoked: Bool = false, _ obstacles: [Obstacle]
  ) {
    hosts.add(host.name, host.conditions, lastSeenAt: lastSeenAt, isRevoked: isRevoked, obstacles)
  }

  /// How many obstacles were examined.
  package var steps: Int { own.count + hosts.steps }

  /// The explanation. The hosts that are nearest to taking the request come first; hosts of equal nearness are sorted
  /// by name.
  package var explanation: Explanation { explanation(of: hosts.inOrder().members) }

  /// The explanation in which hosts with the same obstacles stand together. Its lines are those of the first host of
  /// each group.
  package var grouped: Explanation {
    let grouping = hosts.grouping
    var explanation = explanation(of: grouping.examples)
    explanation.groups = grouping.groups
    return explanation
  }

  /// How many hosts were added.
  package var hostCount: Int { hosts.members.count }

  private func explanation(of members: [ExaminedHosts.Member]) -> Explanation {
    let ownLines = ownLines
    return Explanation(
      record: record, verdict: verdict, lines: ownLines + lines(of: members), position: position,
      advice: advice(ownLines), order: order, reservation: reservation)
  }

  private var ownLines: [Explanation.Line] { own.map { ObstacleInWords($0, of: record.identifier).line } }

  /// The lines of these hosts. What is the same for all hosts with the same obstacles is put into words once.
  private func lines(of members: [ExaminedHosts.Member]) -> [Explanation.Line] {
    var words: [[ObstacleInWords]?] = Array(repeating: nil, count: hosts.causes.count)
    var lines: [Explanation.Line] = []
    lines.reserveCapacity(members.reduce(0) { $0 + hosts.causes[$1.cause].obstacles.count })
    for member in members {
      let known =
        words[member.cause]
        ?? hosts.causes[member.cause].obstacles.map { ObstacleInWords($0, of: record.identifier) }
      words[member.cause] = known
      for (index, obstacle) in known.enumerated() {
        lines.append(obstacle.line(on: member, member.evidence.isEmpty ? nil : member.evidence[index]))
      }
    }
    return lines
  }

  private var verdict: Explanation.Verdict {
    if record.state == .running { return .running }
    if record.state.isEnded { return .ended }
    return !hosts.members.isEmpty && !hosts.hasFitHost ? .impossible : .waiting
  }

  // MARK: Advice

  /// The change that would start the request, or the smallest known set of changes.
  private func advice(_ own: [Explanation.Line]) -> String {
    guard record.state.isPending else { return "" }
    // Without hosts no change on a host can help; the obstacle `noHosts` says that.
    let onHost = hosts.best.map { lines(of: [$0]) } ?? []
    if let lacking = lackOfHardware(own, onHost) { return lacking }
    // One change may take several obstacles away, and is told once.
    let ownChanges = own.map(change).unique
    let changes =
      ownChanges
      + onHost.map(change).unique.filter { !ownChanges.contains($0) }
      .map { "\(hosts.best.map { "on \($0.name): " } ?? "")\($0)" }
    switch changes.count {
    case 0: return "nothing keeps it from starting: it starts in a moment"
    case 1: return "one change starts it: \(changes[0])"
    default: return "\(changes.count) changes start it: " + changes.joined(separator: "; ")
    }
  }

  /// What to do if even the best host lacks the GPUs: no change on a host that is there lets the request start. `nil`
  /// if it does not lack them.
  private func lackOfHardware(_ own: [Explanation.Line], _ onHost: [Explanation.Line]) -> String? {
    guard onHost.contains(where: { $0.code == Obstacle.Kind.hostHasNoGPU.rawValue }) else { return nil }
    let fleet = own.first { $0.code == Obstacle.Kind.noHostHasGPU.rawValue }
    guard let lack = fleet ?? onHost.first(where: { $0.code == Obstacle.Kind.hostHasNoGPU.rawValue }) else {
      return nil
    }
    let others = own.filter { $0.code != Obstacle.Kind.noHostHasGPU.rawValue }.map(change).unique
    return "no change on a present host starts it: \(lack.text); \(lack.remedy)"
      + (others.isEmpty ? "" : "; besides: " + others.joined(separator: "; "))
  }

  private func change(_ line: Explanation.Line) -> String {
    line.clearsAt == nil ? line.remedy : "\(line.remedy) (\(line.code) ends by itself)"
  }
}

/// An obstacle in words, for any number of hosts.
private struct ObstacleInWords {
  private var obstacle: Obstacle
  private var text: String
  private var remedy: Remedy
  /// The remedy on a host whose certificates an operator has revoked.
  private var remedyIfRevoked: Remedy
  /// The remedy for a simulated condition, which is to end the simulation.
  private var remedyIfSimulated: Remedy
  private var (code, isPermanent): (String, Bool)

  init(_ obstacle: Obstacle, of identifier: JobIdentifier) {
    self.obstacle = obstacle
    (code, text, isPermanent) = (obstacle.code, obstacle.text, obstacle.isPermanent)
    remedy = Remedy(obstacle.remedy, identifier)
    remedyIfRevoked = Remedy(obstacle.remedy(isRevoked: true), identifier)
    remedyIfSimulated = Remedy("baton simulate conditions HOST --end", identifier)
  }

  /// The line of an obstacle of the request or of the fleet.
  var line: Explanation.Line {
    Explanation.Line(
      code: code, text: text, remedy: remedy.text(nil), isPermanent: isPermanent, clearsAt: obstacle.clearsAt)
  }

  /// - Parameter evidence: the reading that the obstacle comes from.
  func line(on member: ExaminedHosts.Member, _ evidence: Evidence?) -> Explanation.Line {
    let isSimulated = evidence?.source == ConditionOverrides.source
    let remedy = isSimulated ? remedyIfSimulated : member.isRevoked ? remedyIfRevoked : remedy
    return Explanation.Line(
      host: member.name, code: code, text: text, remedy: remedy.text(member.name), isPermanent: isPermanent,
      source: evidence?.source, raw: evidence?.raw, age: evidence?.age, reportedAt: member.lastSeenAt,
      clearsAt: obstacle.clearsAt)
  }

  /// A remedy with the name of the job, in which only that of a host is missing.
  private struct Remedy {
    /// What stands before, between and after the names of the host.
    private var parts: [String]

    init(_ text: String, _ identifier: JobIdentifier) {
      // No name of a host has this character.
      parts = text.filling(identifier, HostName("\0")).split(separator: "\0", omittingEmptySubsequences: false)
        .map(String.init)
    }

    func text(_ host: HostName?) -> String {
      parts.count == 1 ? parts[0] : parts.joined(separator: host?.rawValue ?? "HOST")
    }
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
