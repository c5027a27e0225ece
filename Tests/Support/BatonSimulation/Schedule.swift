import BatonModel

/// Everything that happens to a simulated fleet from outside: its hosts, definitions, requests and faults. A schedule
/// is data, so that it can be printed and shrunk.
package struct Schedule: Sendable {
  package var seed: UInt64
  /// How many coordinators share the store. One has the store for itself.
  package let coordinators: Int
  var leaseTerm: Duration
  /// The interval of the timers of each process.
  var tickInterval: Duration
  var hosts: [HostPlan]
  var definitions: [Definition]
  /// The namespaces of the fleet; none in one of three simulations.
  var namespaces = Namespaces()
  package var requests: [RequestPlan]
  package var faults: [Fault]
  /// The time of the calm, since the beginning. No fault happens later, and every request has to end.
  var calmAt: Duration

  struct HostPlan: Sendable {
    var name: HostName
    var capabilities: Capabilities
    var conditions: Conditions
    /// The time that its monotonic clock shows at the beginning. No two machines have the same.
    var clockOffset: Duration
  }

  /// The plan of one client: it submits a request, and repeats the submission with the same id until it has an answer.
  package struct RequestPlan: Sendable {
    var at: Duration
    var id: String
    var identifier: JobIdentifier
    var earliest: Earliest?
    var priority: Priority?
    var poke: PokePriority?
    var payload: [UInt8]?
    /// Whether each submission is sent twice, and arrives at two times.
    var isSentTwice: Bool
    var isSampled: Bool

    enum Earliest: Hashable, Sendable {
      case after(Duration)
      /// A date on the wall clock, this long after the beginning.
      case date(Duration)
    }
  }

  /// The flows that clients submit.
  var flows: [FlowSubmission] = []
  /// When people set the limit of the key that the limited jobs share.
  var limitChanges: [LimitChange] = []
  /// When the store is set back, and to what it was how long before; `nil` if it is not. This is the last fault, and
  /// nothing but promise P12 is checked afterwards.
  var setBack: (at: Duration, by: Duration)?
  /// The number of batches of each identifier's work.
  var batches: [JobIdentifier: Int]
  /// What happens to the handlers of an identifier at one batch, on every host, until the calm.
  var troubles: [JobIdentifier: (batch: Int, kind: Trouble)]

  enum Trouble: CaseIterable, Sendable { case fails, stalls, killsProcess }

  /// The number of batches that run if no request is cancelled or replaced.
  package var plannedBatches: Int { requests.reduce(0) { $0 + batches[$1.identifier, default: 1] } }

  /// The interval of the timers in the calm while no launch is open. Coordinators that share a store have to beat.
  var longestPace: Duration { coordinators > 1 ? tickInterval : max(tickInterval, leaseTerm / 4) }

  package var hostCount: Int { hosts.count }

  /// The number of faults, without the actions of operators.
  package var damageCount: Int { faults.count { !$0.isOperators } }

  func definition(for identifier: JobIdentifier) -> Definition? { definitions.first { $0.pattern.matches(identifier) } }
}

extension Schedule {
  /// Draws the schedule of a seed. It has at least 3 workers, 20 requests, 200 batches and 10 faults.
  package init(seed: UInt64, coordinators: Int = 1) {
    var draw = Draw(seed: seed)
    self.seed = seed
    self.coordinators = coordinators
    leaseTerm = .seconds(draw.one(of: [4, 6, 10, 15]))
    tickInterval = .milliseconds(draw.one(of: [400, 700, 1_000]))
    // A worker that knows other coordinators has to have an answer within half a term.
    if coordinators > 1 { tickInterval = min(tickInterval, leaseTerm / 10) }
    (batches, troubles, requests, faults) = ([:], [:], [], [])
    hosts = (0..<draw.one(of: [3, 3, 4])).map { HostPlan(number: $0, &draw) }
    definitions = Self.definitions(&draw, shardSeed: seed)
    // A stream of their own, so that the other draws stay as they are.
    var teams = Draw(seed: seed, stream: 9_300)
    namespaces = Self.namespaces(&teams)
    calmAt = .seconds(draw.one(of: [20, 25, 35]))
    let count = draw.number(20...24)
    while requests.count < count || plannedBatches < 200 { addRequest(&draw) }
    let faultCount = draw.number(10...16)
    while faults.count(where: { !$0.isOperators }) < faultCount { addFault(&draw) }
    var changes = Draw(seed: seed, stream: 9_200)
    addChangesOfSpread(&changes)
    addChain(&changes)
    var members = Draw(seed: seed, stream: 9_400)
    addFlow(&members)
    var words = Draw(seed: seed, stream: 9_600)
    addWordsOfSchedules(&words)
    var limited = Draw(seed: seed, stream: 9_500)
    addLimits(&limited)
    faults.sort { $0.at < $1.at }
    var fate = Draw(seed: seed, stream: 9_000)
    if coordinators > 1, fate.chance(10) {
      let at = fate.milliseconds(8_000...Int(calmAt.inSeconds * 950))
      setBack = (at, fate.milliseconds(3_000...7_000))
      faults.removeAll { $0.at >= at }
    }
  }

  /// The job whose launches submit its next request, as long as links are left (contract, row 9).
  static let chain = JobIdentifier(trusted: "links")

  /// The job that the end of each request of the chain submits first.
  static let follower = JobIdentifier(trusted: "linked")
  /// The job that the same end submits in one flow with `follower`, and that comes after it.
  static let lastFollower = JobIdentifier(trusted: "linked-last")

  /// Who is told of each end of a request of the chain. Nothing sends what is told, so it stays in the outbox.
  static let receiver = ReceiverName(trusted: "ops")

  /// Adds a chain of requests, and what follows them. It comes last, so that the other draws stay as they are. No
  /// client but the first one submits it, and no operator changes its definition.
  private mutating func addChain(_ draw: inout Draw) {
    var links = Definition(pattern: Self.chain.rawValue, kind: .processing, retry: 3)
    links.maySubmit = [IdentifierPattern(Self.chain)]
    let followers = FollowUp(Self.lastFollower.rawValue, Self.follower.rawValue)
    (links.onSuccess, links.onFailure) = (followers, followers)
    var told = NotifyRule()
    (told.success, told.failure) = ([Self.receiver], [Self.receiver])
    links.notify = told
    let linked = Definition(pattern: Self.follower.rawValue, kind: .processing, retry: 3)
    var last = Definition(pattern: Self.lastFollower.rawValue, kind: .processing, retry: 3)
    last.after = JobReference(Self.follower.rawValue).map { [Dependency($0, on: .any)] }
    definitions += [links, linked, last]
    batches[Self.chain] = draw.number(1...3)
    (batches[Self.follower], batches[Self.lastFollower]) = (1, 1)
    let count = UInt8(draw.number(3...8))
    requests.append(
      RequestPlan(
        at: draw.milliseconds(0...3_000), id: "submission-links", identifier: Self.chain, payload: [count],
        isSentTwice: false, isSampled: true))
    for index in hosts.indices { hosts[index].capabilities.handlers += [links.pattern, linked.pattern, last.pattern] }
  }

  private mutating func addRequest(_ draw: inout Draw) {
    let definition = draw.one(of: definitions + definitions.filter { $0.kind == .processing })
    let known = requests.map(\.identifier).filter { definition.pattern.matches($0) }
    let isKnown = draw.chance(50) && !known.isEmpty
    let identifier =
      definition.pattern.literal ?? (isKnown ? draw.one(of: known) : nil)
      ?? JobIdentifier(trusted: definition.pattern.rawValue.dropLast(1) + "n\(requests.count)")
    if batches[identifier] == nil { addWork(of: identifier, definition, &draw) }
    // Some requests come at the same time as the request before.
    let at = draw.chance(30) ? requests.last?.at : nil
    var request = RequestPlan(
      at: at ?? draw.milliseconds(0...Int(calmAt.inSeconds * 700)), id: "submission-\(requests.count)",
      identifier: identifier, isSentTwice: draw.chance(15), isSampled: draw.chance(80))
    if draw.chance(30) { request.payload = [UInt8(truncatingIfNeeded: requests.count), 7] }
    switch draw.number(0...19) {
    case 0, 1: request.earliest = .after(draw.milliseconds(500...20_000))
    case 2, 3: request.earliest = .date(draw.milliseconds(0...45_000))
    case 4, 5: request.priority = draw.one(of: Priority.allCases)
    case 6, 7: request.poke = draw.one(of: PokePriority.allCases)
    default: break
    }
    requests.append(request)
  }

  private mutating func addWork(of identifier: JobIdentifier, _ definition: Definition, _ draw: inout Draw) {
    if let items = definition.work?.items?.computedCount, let size = definition.work?.batchSize {
      batches[identifier] = (items + size - 1) / size
    } else {
      batches[identifier] = definition.kind == .refresh ? draw.number(1...3) : draw.number(4...22)
    }
    guard draw.chance(8) else { return }
    let kind = draw.one(of: definition.endsStalls ? Trouble.allCases : [.fails, .killsProcess])
    // Three launches without a batch are a reason for quarantine, so half of the troubles begin with the first batch.
    troubles[identifier] = (draw.chance(50) ? 0 : draw.number(0...batches[identifier, default: 1]), kind)
  }

  /// Namespaces whose quotas leave room for the largest request of each.
  private static func namespaces(_ draw: inout Draw) -> Namespaces {
    guard draw.chance(66) else { return Namespaces() }
    let all = ["range", "lines", "train", "large"].map { prefix in
      var quotas = Namespace.Quotas()
      quotas.pending = draw.one(of: [3, 6, nil, nil])
      quotas.running = draw.one(of: [1, 2, 3, nil])
      quotas.slots = draw.one(of: [2, 3, 4, nil])
      quotas.gpus = draw.one(of: [2, nil])
      quotas.dailyAllowance = draw.one(of: [.seconds(10), .seconds(60), nil, nil, nil])
      return Namespace(prefix, weight: draw.number(1...4), quotas: quotas)
    }
    return Namespaces(all, useHalfLife: .seconds(draw.one(of: [60, 600])))
  }

  private static func definitions(_ draw: inout Draw, shardSeed: UInt64) -> [Definition] {
    var ranged = Definition(pattern: "range.*", kind: .processing, retry: 3)
    ranged.work = Work(command: ["range"], items: .range(1...Int64(draw.number(6...40))), batchSize: draw.number(1...3))
    // One of two is divided: its shards have a stream of their own, so that the other draws stay as they are.
    var shards = Draw(seed: shardSeed, stream: 9_100)
    if shards.chance(50) {
      ranged.spread = Spread(lanes: shards.number(1...4), shardSize: shards.one(of: [nil, nil, 1, 5, 100]))
      ranged.spread?.onShardFailure = shards.one(of: [nil, nil, .stop])
    }
    ranged.maxRunning = draw.one(of: [1, 2, 3, nil])
    ranged.pendingLimit = draw.one(of: [1, 2, nil, nil])
    ranged.budget = draw.one(of: [.seconds(4), .seconds(600)])
    var listed = Definition(pattern: "lines.*", kind: .processing, retry: 2)
    listed.work = Work(command: ["lines"], items: .lines("items"), batchSize: draw.number(1...3))
    listed.requirements.requiresIdle = draw.chance(50)
    listed.requirements.network = draw.chance(50) ? .any : nil
    listed.requirements.labels = draw.chance(50) ? ["zone": "a"] : nil
    if shards.chance(50) { listed.spread = Spread(lanes: shards.number(2...4)) }
    var trained = Definition(pattern: "train.*", kind: .continued, retry: 1)
    trained.requirements.gpu = GPURequirement(count: draw.number(1...2), memoryBytes: 8 << 30)
    trained.stallAfter = draw.one(of: [.seconds(2), .seconds(3), nil])
    trained.dailyAllowance = draw.one(of: [.seconds(5), .seconds(20), nil, nil])
    var large = Definition(pattern: "large.*", kind: .processing, retry: 3)
    large.requirements.slots = 2
    large.requirements.externalPower = true
    large.budget = draw.one(of: [.seconds(2), .seconds(5), .seconds(20), .seconds(600)])
    large.stallAfter = draw.one(of: [.seconds(2), nil])
    var looked = Definition(pattern: "look", kind: .refresh, retry: 1)
    if draw.chance(70) {
      looked.repeatEvery = .seconds(draw.one(of: [15, 25]))
    } else if let everyMinute = try? CronExpression("* * * * *") {
      looked.schedule = JobSchedule(
        cron: everyMinute, timeZone: draw.one(of: ["UTC", "Asia/Kathmandu"]),
        jitter: draw.one(of: [.zero, .seconds(20)]),
        missed: draw.one(of: MissedRuns.allCases), overlap: draw.one(of: Overlap.allCases))
    }
    looked.allowFrequent = true
    var synced = Definition(pattern: "sync.*", kind: .refresh, retry: 2)
    synced.requirements.network = .unmetered
    // Otherwise the refreshes are 15 minutes apart, in which a simulation has thousands of ticks. That is rarely drawn.
    synced.allowFrequent = draw.chance(95)
    synced.pokeSpacing = .seconds(20)
    var urgent = Definition(pattern: "now.*", kind: .continued, retry: 2)
    urgent.stallAfter = draw.one(of: [.seconds(2), nil])
    urgent.strategy = draw.one(of: [.fail, .queue])
    return [ranged, listed, trained, large, looked, synced, urgent]
  }
}

extension Definition {
  fileprivate init(pattern: String, kind: JobKind, retry limit: Int) {
    self.init(pattern: IdentifierPattern(trusted: pattern), kind: kind)
    requirements.requiresIdle = false
    if kind == .continued { title = pattern }
    retry = RetryRule(limit: limit, backoff: .seconds(2))
  }
}

extension Definition {
  /// Whether a launch that makes no progress is asked to stop within a minute or so.
  var endsStalls: Bool { stallAfter != nil || budget.map { $0 <= .seconds(30) } ?? false }

  var withoutAllowance: Definition {
    var definition = self
    definition.dailyAllowance = nil
    return definition
  }
}

extension Namespaces {
  var withoutAllowances: Namespaces {
    let all = all.map { namespace in
      var namespace = namespace
      namespace.quotas.dailyAllowance = nil
      return namespace
    }
    return Namespaces(all, useHalfLife: useHalfLife)
  }
}

extension Schedule.HostPlan {
  /// Draws a host. The first two hosts can run every request, so that every request can end.
  fileprivate init(number: Int, _ draw: inout Draw) {
    name = HostName("host-\(number)")
    let handlers = ["train.*", "large.*", "look", "sync.*", "now.*"].map { IdentifierPattern(trusted: $0) }
    let isAble = number < 2
    capabilities = Capabilities(
      slots: isAble ? draw.number(2...4) : draw.number(1...3),
      kinds: isAble || draw.chance(80) ? Set(JobKind.allCases) : [.processing],
      handlers: isAble ? handlers : handlers.filter { _ in draw.chance(70) },
      dailyAllowance: isAble ? nil : draw.one(of: [.seconds(5), .seconds(20), nil, nil]))
    conditions = Conditions.assumed
    conditions.isIdle = Reading(true, source: "probe")
    conditions.labels.value = isAble || draw.chance(50) ? ["zone": "a"] : [:]
    let count = isAble ? 2 : draw.number(0...3)
    conditions.gpus = Reading(
      (0..<count).map {
        GPU(id: "gpu-\($0)", name: "GPU", memoryBytes: isAble || draw.chance(50) ? 16 << 30 : 4 << 30)
      }, source: "probe")
    clockOffset = .seconds(draw.number(0...1_000_000))
  }
}
