import BatonModel
import BatonStore

/// What each namespace holds and has used, as the dispatcher knows it. Nothing is kept without namespaces.
struct NamespaceLedger: Sendable {
  let namespaces: Namespaces
  /// The launches that run or have a reserved place, by prefix, with their slots and GPUs.
  private var held: [String: NamespaceCounts] = [:]
  /// The use of ended launches, as the store has it, and of those that run.
  private var served: [String: DecayedUse] = [:]
  /// The launch time of the day, without the launches that run.
  private var use: [String: DailyUse] = [:]
  /// The namespaces that have used up their daily allowance, each with the time when it refills, as of the last tick.
  private(set) var refills: [String: Timestamp] = [:]
  /// The class for which the quota of each namespace is saved, because it has waited long.
  var savings: [String: QuotaSaving] = [:]

  init(_ namespaces: Namespaces) { self.namespaces = namespaces }

  /// A launch counts, while free slots are divided, as if it had used its slots for this time.
  static let leastUse = Duration.seconds(60)

  // MARK: What is held

  func held(by prefix: String) -> NamespaceCounts { held[prefix] ?? NamespaceCounts() }

  /// Counts launches of a definition that hold places, or do not any more if the number is negative.
  mutating func count(_ launches: Int, of definition: Definition) {
    if namespaces.isEmpty { return }
    let (prefix, needs) = (namespaces.prefix(of: definition.pattern), definition.requirements)
    held[prefix, default: NamespaceCounts()].running += launches
    held[prefix]?.slots += launches * needs.slots
    held[prefix]?.gpus += launches * (needs.gpu?.count ?? 0)
  }

  /// How many more launches of a definition its namespace permits.
  func room(for definition: Definition) -> Int {
    if namespaces.isEmpty { return .max }
    let namespace = namespaces.namespace(of: definition.pattern)
    return held(by: namespace.prefix).room(for: definition.requirements, within: namespace.quotas)
  }

  // MARK: What is used

  /// The use of a namespace divided by its weight, in slot-seconds: of two namespaces the one with less goes first.
  func share(of prefix: String, at now: Timestamp) -> Double {
    if namespaces.isEmpty { return 0 }
    return used(by: prefix, at: now) / Double(namespaces[prefix].weight)
  }

  /// The use of a namespace in slot-seconds, as it counts now.
  func used(by prefix: String, at now: Timestamp) -> Double {
    served[prefix]?.slotSeconds(at: now, halfLife: namespaces.useHalfLife) ?? 0
  }

  /// A launch of a definition has started, or does not run any more if `slots` is negative.
  mutating func hold(_ slots: Int, of definition: Definition, at now: Timestamp) {
    if namespaces.isEmpty { return }
    served[namespaces.prefix(of: definition.pattern), default: DecayedUse()]
      .hold(slots, at: now, halfLife: namespaces.useHalfLife)
  }

  /// A launch of a definition has ended, and its time counts for the day.
  mutating func charge(_ duration: Duration, of definition: Definition, at now: Timestamp) {
    if namespaces.isEmpty { return }
    use[namespaces.prefix(of: definition.pattern), default: DailyUse()].charge(duration, at: now)
  }

  /// Takes over what the store says. The launches that run are counted afterwards, by `go(on:)`.
  mutating func hear(_ stored: [String: NamespaceCounts]) {
    served = stored.mapValues(\.served)
    use = stored.mapValues(\.use)
  }

  /// Counts a launch that has been running since `start`.
  mutating func goOn(_ definition: Definition, since start: Timestamp, at now: Timestamp) {
    let (prefix, slots) = (namespaces.prefix(of: definition.pattern), definition.requirements.slots)
    served[prefix, default: DecayedUse()].add(slots, from: start, to: now, halfLife: namespaces.useHalfLife)
    hold(slots, of: definition, at: now)
  }

  /// What of the daily allowance is used, with the times of running launches.
  func usedToday(by prefix: String, running: [Duration], at now: Timestamp) -> Duration {
    var use = use[prefix] ?? DailyUse()
    for duration in running { use.charge(duration, at: now) }
    return use.used(at: now)
  }

  /// Notes which namespaces have used up their daily allowance.
  /// - Parameter running: how long the running launches of each of them have run.
  mutating func noteAllowances(_ running: [String: [Duration]], at now: Timestamp) {
    refills = [:]
    for namespace in namespaces.all {
      guard let allowance = namespace.quotas.dailyAllowance,
        usedToday(by: namespace.prefix, running: running[namespace.prefix] ?? [], at: now) >= allowance
      else { continue }
      refills[namespace.prefix] = DailyUse.refill(after: now)
    }
  }

  // MARK: Dividing

  /// How many of the free slots each namespace gets first. Each slot in turn goes to the namespace that has been served
  /// least, which then counts as served with it. So a namespace with many requests does not get everything that is
  /// free at one moment. The cost depends on the number of slots and of namespaces, and not on hosts or requests.
  func divide(_ slots: Int, among prefixes: [String], at now: Timestamp) -> [String: Int] {
    var shares = prefixes.map { (prefix: $0, share: share(of: $0, at: now), slots: 0) }
    guard !shares.isEmpty else { return [:] }
    for _ in 0..<slots {
      var least = 0
      for index in shares.indices where shares[index].share < shares[least].share { least = index }
      shares[least].slots += 1
      shares[least].share += Self.leastUse.inSeconds / Double(namespaces[shares[least].prefix].weight)
    }
    return Dictionary(uniqueKeysWithValues: shares.map { ($0.prefix, $0.slots) })
  }
}

/// What is kept of a namespace's quota of slots or GPUs for the first request of a class, because it has waited long
/// and smaller requests of the namespace would take each slot that comes free.
struct QuotaSaving: Hashable, Sendable {
  var requirementClass: RequirementClass
  var pattern: IdentifierPattern
  /// The first request of the class when the saving began.
  var first: Dispatcher.ReadyClass.First
  /// When it is given up, on the steady clock.
  var endsAt: Timestamp
}
