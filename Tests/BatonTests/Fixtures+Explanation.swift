import BatonModel
import BatonStore

@testable import BatonCoordinator

extension HostReport {
  /// A host that has been gone for three hours, with its last report.
  static let gamma = HostReport(
    name: HostName("gamma"), state: .gone, version: "0.1.0", capabilities: Capabilities(slots: 4),
    conditions: beta.conditions, usedSlots: 0, running: [], lastSeenAt: now + .seconds(-10_800))

  /// A host of which only the name is known.
  static let delta = HostReport(
    name: HostName("delta"), state: .gone, version: "", capabilities: Capabilities(slots: 0), conditions: .assumed,
    usedSlots: 0, running: [], lastSeenAt: nil)

  /// A host with a simulated battery.
  static let epsilon = HostReport(
    name: HostName("epsilon"), state: .ready, version: "0.1.0", capabilities: Capabilities(slots: 4),
    conditions: ConditionOverrides(power: .battery, battery: 15).applied(to: .assumed), usedSlots: 0, running: [],
    lastSeenAt: now + .seconds(-4))
}

extension Explanation {
  static let waiting = Explanation(
    record: .ready, verdict: .waiting,
    lines: [
      line("alpha", .hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0)), line("beta", .hostDraining),
    ], advice: "one change starts it: on beta: baton undrain HOST, or start its worker again",
    order: Order(lastUsedAt: now + .seconds(-300), hasRecentUse: true))

  /// An explanation with every kind of detail that an obstacle can have.
  static let manifold = Explanation(
    record: .scheduled, verdict: .waiting,
    lines: [
      line(nil, .rateLimited(until: now + .seconds(900))), line(nil, .fleetPaused),
      line("beta", .hostDraining, age: 4000),
      line("beta", .needsExternalPower, "sysfs", "AC0/online=0", age: 4000),
      line("delta", .hostGone), line("delta", .notPermittedOnHost(.identifier)),
      line("epsilon", .needsIdleHost, "assumed", "", age: 4),
      line("epsilon", .needsExternalPower, "simulated", "AC0/online=1", age: 4),
      line("epsilon", .allowanceSpent(refillsAt: now + .seconds(63_000)), age: 4), line("epsilon", .evicted, age: 4),
      line("gamma", .hostGone, age: 10_800),
      line("gamma", .tooHot(.serious), "hwmon", "", age: 10_800),
      line("zeta", .hostAway), line("zeta", .kindNotAccepted(.refresh)),
      line("zeta", .lowPowerMode, "platform profile", age: 1),
      line("zeta", .batteryLow(percent: 12), "sysfs", "BAT0/capacity=12", age: 1),
      line("zeta", .reserved(for: IdentifierPattern("com.example.wide.*")!, until: now + .seconds(120)), age: 1),
    ], position: 3,
    advice: "3 changes start it: wait, or declare 'allowFrequent: true' (rateLimited ends by itself); baton resume; "
      + "on zeta: wait until it is back",
    order: Order(lastUsedAt: now + .seconds(-3 * 86_400), hasRecentUse: false, classesAhead: 2, agedPriority: .utility),
    reservation: Reservation(host: HostName("epsilon"), expectedAt: now + .seconds(300)))

  /// The obstacle as the coordinator explains it.
  static func line(
    _ host: String?, _ obstacle: Obstacle, _ source: String? = nil, _ raw: String? = nil, age: Int? = nil
  ) -> Explanation.Line {
    Line(
      host: host.map { HostName($0) }, code: obstacle.code, text: obstacle.text, remedy: obstacle.remedy,
      isPermanent: obstacle.isPermanent, source: source, raw: raw, reportedAt: age.map { now + .seconds(-$0) },
      clearsAt: obstacle.clearsAt)
  }
}

extension RequestDetails {
  /// A request for which pokes asked, with a simulated launch.
  static let poked = RequestDetails(
    record: .example(8, "com.example.news", number: 2, .ready) {
      $0.kind = .refresh
      $0.launches = 2
      $0.lastOutcome = .expired
      $0.reason = "simulated (batteryLow)"
      $0.principal = "bo"
      $0.poke = .immediate
    },
    launches: [
      launch(1, .lost, nil, isSimulated: false), launch(2, .expired, "simulated (batteryLow)", isSimulated: true),
    ],
    events: [
      EventRecord(at: now + .seconds(-600), name: "pokedAtOnce", detail: "bo"),
      EventRecord(at: now + .seconds(-500), name: "simulatedLaunch", detail: "alpha"),
    ],
    pokes: [
      PokeRecord(id: "delivery-41", at: now + .seconds(-900), priority: .considerate, principal: "hook"),
      PokeRecord(id: "delivery-42", at: now + .seconds(-600), priority: .immediate, principal: "bo"),
    ], position: 0)

  private static func launch(
    _ number: Int, _ outcome: LaunchOutcome.Kind, _ reason: String?, isSimulated: Bool
  ) -> LaunchRecord {
    LaunchRecord(
      launch: LaunchKey(request: RequestID(8), number: number), host: HostName("alpha"),
      startedAt: now + .seconds(-600 + number * 100), endedAt: now + .seconds(-550 + number * 100), outcome: outcome,
      reason: reason, isGraceful: true, firstBatch: 0, batches: 0,
      spanID: SpanID(bytes: [UInt8](repeating: UInt8(number), count: 8))!,
      isSimulated: isSimulated)
  }

  /// A running request that is asked to stop because of simulated conditions.
  static let expiring = RequestDetails(
    record: .running,
    launches: [
      LaunchRecord(
        launch: LaunchKey(request: RequestID(4), number: 2), host: HostName("alpha"), startedAt: now + .seconds(-192),
        isGraceful: true, firstBatch: 11, batches: 1, spanID: SpanID(2),
        expiringReason: .simulated(as: .powerLost), expiringSince: now + .seconds(-2))
    ], events: [])
}
