import BatonModel

/// The hosts of a fleet with what keeps one request off each of them. Each host is examined once, so the cost is
/// proportional to the size of the fleet, and hosts with the same obstacles share what follows from these.
struct ExaminedHosts: Sendable {
  /// The obstacles of one or more hosts.
  struct Cause: Sendable {
    var obstacles: [Obstacle]
    /// Their codes, each once.
    var codes: [String]
    var nearness: Nearness
    /// How many of the obstacles never clear by themselves.
    var permanent: Int
    /// Whether the hosts lack the GPUs that the request needs, so that no change on them lets it start.
    var lacksHardware: Bool
    /// How many hosts have these obstacles.
    var hosts = 0

    init(_ obstacles: [Obstacle]) {
      self.obstacles = obstacles
      codes = obstacles.map(\.code).unique
      nearness = Nearness(obstacles)
      permanent = obstacles.count(where: \.isPermanent)
      lacksHardware = obstacles.contains { $0.kind == .hostHasNoGPU }
    }
  }

  /// One host.
  struct Member: Sendable {
    var name: HostName
    /// The index of its obstacles in `causes`.
    var cause: Int
    /// When the host was last heard of.
    var lastSeenAt: Timestamp?
    /// Whether an operator has revoked its certificates, so that its worker cannot come back by itself.
    var isRevoked: Bool
    /// The readings that its obstacles come from, in the order of the obstacles; empty if none comes from a reading.
    var evidence: [Evidence?]
  }

  /// The members by their obstacles, and the first member of each group that is told.
  struct Grouping: Sendable {
    var groups: ExplainedGroups
    var examples: [Member]
  }

  private(set) var causes: [Cause] = []
  private(set) var members: [Member] = []
  private var causeOf: [[Obstacle]: Int] = [:]
  /// The host with the fewest obstacles among the hosts that are nearest to taking the request.
  private(set) var best: Member?
  /// Whether the members are in the order of their names.
  private var isByName = true
  /// Whether the members are in the order in which they are told.
  private var isInOrder = false
  private var kept: Grouping?

  /// How many obstacles there are.
  var steps: Int { causes.reduce(0) { $0 + $1.hosts * $1.obstacles.count } }

  /// Whether some host could run the request as it is configured.
  var hasFitHost: Bool { causes.contains { $0.permanent == 0 } }

  /// Adds a host.
  /// - Parameter conditions: those with which the obstacles were found.
  mutating func add(
    _ name: HostName, _ conditions: Conditions, lastSeenAt: Timestamp?, isRevoked: Bool, _ obstacles: [Obstacle]
  ) {
    let cause = index(of: obstacles)
    causes[cause].hosts += 1
    let evidence = obstacles.map { Policy.evidence(of: $0, in: conditions) }
    let member = Member(
      name: name, cause: cause, lastSeenAt: lastSeenAt, isRevoked: isRevoked,
      evidence: evidence.allSatisfy { $0 == nil } ? [] : evidence)
    if let last = members.last, name < last.name { isByName = false }
    members.append(member)
    if best.map({ isBetter(member, than: $0) }) ?? true { best = member }
    (isInOrder, kept) = (false, nil)
  }

  private mutating func index(of obstacles: [Obstacle]) -> Int {
    // Neighbours often have the same obstacles.
    if let last = members.last?.cause, causes[last].obstacles == obstacles { return last }
    if let known = causeOf[obstacles] { return known }
    causes.append(Cause(obstacles))
    causeOf[obstacles] = causes.count - 1
    return causes.count - 1
  }

  private func isBetter(_ one: Member, than other: Member) -> Bool {
    let (left, right) = (causes[one.cause], causes[other.cause])
    if one.cause == other.cause { return one.name < other.name }
    return (
      left.nearness.rawValue, left.lacksHardware ? 1 : 0, left.obstacles.count, left.permanent, one.name.rawValue
    )
      < (
        right.nearness.rawValue, right.lacksHardware ? 1 : 0, right.obstacles.count, right.permanent,
        other.name.rawValue
      )
  }

  /// The same hosts in the order in which they are told, and grouped: those first that are nearest to taking the
  /// request, and hosts of equal nearness by name.
  func inOrder() -> ExaminedHosts {
    if isInOrder { return self }
    var ordered = self
    let byName = isByName ? members : members.sorted { $0.name < $1.name }
    ordered.members = Nearness.allCases.flatMap { nearness in
      byName.filter { causes[$0.cause].nearness == nearness }
    }
    ordered.isInOrder = true
    ordered.kept = ordered.grouped
    return ordered
  }

  /// The hosts with the same obstacles together. The hosts without an obstacle come first, then those that are nearest
  /// to taking the request.
  var grouping: Grouping { kept ?? inOrder().grouped }

  private var grouped: Grouping {
    var (groups, examples): ([ExplainedGroups.Group], [Member]) = ([], [])
    var (byCause, byCodes): ([Int?], [[String]: Int]) = (Array(repeating: nil, count: causes.count), [:])
    func add(_ member: Member) {
      let codes = causes[member.cause].codes
      if let group = byCause[member.cause] ?? byCodes[codes] {
        byCause[member.cause] = group
        groups[group].count += 1
        if groups[group].names.count < ExplainedGroups.mostNames { groups[group].names.append(member.name) }
      } else {
        (byCause[member.cause], byCodes[codes]) = (groups.count, groups.count)
        groups.append(.init(codes: codes, names: [member.name], count: 1))
        examples.append(member)
      }
    }
    for member in members where causes[member.cause].obstacles.isEmpty { add(member) }
    for member in members where !causes[member.cause].obstacles.isEmpty { add(member) }
    let most = ExplainedGroups.mostGroups
    return Grouping(
      groups: ExplainedGroups(
        hosts: members.count, rows: rows, groups: Array(groups.prefix(most)), moreGroups: max(0, groups.count - most)),
      examples: Array(examples.prefix(most)))
  }

  /// The obstacle first that alone keeps the request off most hosts.
  private var rows: [ExplainedGroups.Row] {
    var found: [String: ExplainedGroups.Row] = [:]
    for cause in causes {
      for code in cause.codes {
        found[code, default: .init(code: code, hosts: 0, alone: 0)].hosts += cause.hosts
        if cause.codes.count == 1 { found[code]?.alone += cause.hosts }
      }
    }
    return found.values.sorted { ($1.alone, $1.hosts, $0.code) < ($0.alone, $0.hosts, $1.code) }
  }
}
