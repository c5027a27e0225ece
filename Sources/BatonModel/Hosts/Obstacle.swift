/// One reason why a request does not start now, or does not start on one host. The dispatcher decides with obstacles,
/// and `baton explain` prints these same obstacles.
///
/// To add an obstacle, add a case of ``Kind``, its row in `Obstacle+Rows.swift`, and a static member that makes it.
package struct Obstacle: Hashable, Sendable {
  package let kind: Kind
  package let detail: Detail

  /// The kind of an obstacle. The raw value is its stable code in JSON and in spans.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    // Obstacles of the request itself.
    case notBefore, rateLimited, backingOff, waitsForLiveRequest, waitsForOthers, maxRunningReached, allowanceSpent
    case lanesInUse, waitsForTransfers, transfersLimited, schedulePaused, limitReached, rateReached
    case namespaceRunning, namespaceSlots, namespaceGPUs, namespaceAllowanceSpent, namespaceReserved
    // Obstacles of the fleet.
    case fleetPaused, noHosts, noHostHasGPU, storeBusy
    // Obstacles of one host.
    case hostGone, hostAway, hostDraining, hostPausedByOwner, outsideHours, notPermittedOnHost, evicted, kindNotAccepted
    case noHandler, tooFewSlots, slotsInUse, needsExternalPower, needsNetwork, needsUnmeteredNetwork, needsIdleHost
    case batteryLow, lowPowerMode, tooHot, hostHasNoGPU, gpusInUse, givingWay, reserved, missingLabel,
      sandboxUnavailable, noShards, noTransfers, filesElsewhere, transfersFull, transfersOutOfRoom
  }

  /// The values of an obstacle: what it says beyond its kind.
  package enum Detail: Hashable, Sendable {
    case none
    /// When the obstacle ends by itself; `nil` if that is unknown.
    case until(Timestamp?)
    /// The number of a request, a limit, or a percentage, depending on the kind.
    case number(Int)
    case slots(needed: Int, available: Int)
    case gpus(needed: GPURequirement, available: Int)
    case job(JobKind)
    case thermal(ThermalState)
    case label(name: String, wanted: String, found: String?)
    case veto(Veto)
    case sandbox(SandboxLevel, why: String)
    /// The definition of the request that has reserved the host, and when it expects room.
    case reservation(IdentifierPattern, until: Timestamp)
    /// A quota of a namespace: what the request needs of it, what is used, and the limit.
    case quota(namespace: String, needed: Int, used: Int, limit: Int)
    case namespace(String, until: Timestamp)
    /// The requests that have to end first, as people name them.
    case others([String])
    /// The definition of the request for which quota of the namespace is saved.
    case saving(namespace: String, IdentifierPattern)
    case pause(SchedulePause)
    case key(LimitObstacle)
  }

  fileprivate init(_ kind: Kind, _ detail: Detail = .none) { (self.kind, self.detail) = (kind, detail) }
}

extension Obstacle {
  package static func notBefore(_ date: Timestamp) -> Self { Self(.notBefore, .until(date)) }
  package static func rateLimited(until date: Timestamp) -> Self { Self(.rateLimited, .until(date)) }
  package static func backingOff(until date: Timestamp) -> Self { Self(.backingOff, .until(date)) }
  package static func waitsForLiveRequest(number: Int) -> Self { Self(.waitsForLiveRequest, .number(number)) }
  /// - Parameter names: the requests that have to end first, as people name them.
  package static func waitsForOthers(_ names: [String]) -> Self { Self(.waitsForOthers, .others(names)) }
  package static func maxRunningReached(limit: Int) -> Self { Self(.maxRunningReached, .number(limit)) }
  package static func allowanceSpent(refillsAt date: Timestamp) -> Self { Self(.allowanceSpent, .until(date)) }

  package static func namespaceRunning(_ namespace: String, limit: Int) -> Self {
    Self(.namespaceRunning, .quota(namespace: namespace, needed: 1, used: limit, limit: limit))
  }
  package static func namespaceSlots(_ namespace: String, needed: Int, used: Int, limit: Int) -> Self {
    Self(.namespaceSlots, .quota(namespace: namespace, needed: needed, used: used, limit: limit))
  }
  package static func namespaceGPUs(_ namespace: String, needed: Int, used: Int, limit: Int) -> Self {
    Self(.namespaceGPUs, .quota(namespace: namespace, needed: needed, used: used, limit: limit))
  }
  package static func namespaceAllowanceSpent(_ namespace: String, refillsAt date: Timestamp) -> Self {
    Self(.namespaceAllowanceSpent, .namespace(namespace, until: date))
  }
  package static func namespaceReserved(_ namespace: String, for pattern: IdentifierPattern) -> Self {
    Self(.namespaceReserved, .saving(namespace: namespace, pattern))
  }

  package static let waitsForTransfers = Self(.waitsForTransfers)
  package static func transfersLimited(until date: Timestamp) -> Self { Self(.transfersLimited, .until(date)) }

  package static func lanesInUse(of lanes: Int) -> Self { Self(.lanesInUse, .number(lanes)) }

  package static func schedulePaused(_ pause: SchedulePause) -> Self { Self(.schedulePaused, .pause(pause)) }

  /// The limit of a key keeps the request from starting.
  package static func limitReached(_ limit: LimitObstacle) -> Self {
    Self(limit.key.kind == .rate ? .rateReached : .limitReached, .key(limit))
  }

  package static let fleetPaused = Self(.fleetPaused)
  package static let noHosts = Self(.noHosts)
  package static func noHostHasGPU(needed: GPURequirement) -> Self {
    Self(.noHostHasGPU, .gpus(needed: needed, available: 0))
  }
  package static let storeBusy = Self(.storeBusy)

  package static let hostGone = Self(.hostGone)
  package static let hostAway = Self(.hostAway)
  package static let hostDraining = Self(.hostDraining)
  package static func hostPausedByOwner(until date: Timestamp?) -> Self { Self(.hostPausedByOwner, .until(date)) }
  package static func outsideHours(until date: Timestamp) -> Self { Self(.outsideHours, .until(date)) }
  package static func notPermittedOnHost(_ veto: Veto) -> Self { Self(.notPermittedOnHost, .veto(veto)) }
  package static let evicted = Self(.evicted)
  package static func kindNotAccepted(_ kind: JobKind) -> Self { Self(.kindNotAccepted, .job(kind)) }
  package static let noHandler = Self(.noHandler)
  package static func tooFewSlots(needed: Int, total: Int) -> Self {
    Self(.tooFewSlots, .slots(needed: needed, available: total))
  }
  package static func slotsInUse(needed: Int, free: Int) -> Self {
    Self(.slotsInUse, .slots(needed: needed, available: free))
  }
  package static let needsExternalPower = Self(.needsExternalPower)
  package static let needsNetwork = Self(.needsNetwork)
  package static let needsUnmeteredNetwork = Self(.needsUnmeteredNetwork)
  package static let needsIdleHost = Self(.needsIdleHost)
  package static func batteryLow(percent: Int) -> Self { Self(.batteryLow, .number(percent)) }
  package static let lowPowerMode = Self(.lowPowerMode)
  package static func tooHot(_ state: ThermalState) -> Self { Self(.tooHot, .thermal(state)) }
  package static func hostHasNoGPU(needed: GPURequirement, suitable: Int) -> Self {
    Self(.hostHasNoGPU, .gpus(needed: needed, available: suitable))
  }
  package static func gpusInUse(needed: GPURequirement, free: Int) -> Self {
    Self(.gpusInUse, .gpus(needed: needed, available: free))
  }
  package static let givingWay = Self(.givingWay)
  package static func reserved(for pattern: IdentifierPattern, until date: Timestamp) -> Self {
    Self(.reserved, .reservation(pattern, until: date))
  }
  package static func missingLabel(name: String, wanted: String, found: String?) -> Self {
    Self(.missingLabel, .label(name: name, wanted: wanted, found: found))
  }
  package static let noShards = Self(.noShards)
  package static let noTransfers = Self(.noTransfers)
  package static let filesElsewhere = Self(.filesElsewhere)
  package static let transfersOutOfRoom = Self(.transfersOutOfRoom)
  package static func transfersFull(limit: Int) -> Self { Self(.transfersFull, .number(limit)) }
  package static func sandboxUnavailable(_ level: SandboxLevel, why: String) -> Self {
    Self(.sandboxUnavailable, .sandbox(level, why: why))
  }
}

extension Obstacle {
  /// The obstacle because of which a request is `scheduled`; `nil` if `kind` is no such kind.
  /// - Parameters:
  ///   - until: when the obstacle ends by itself.
  ///   - number: the number of the live request for which the request waits.
  ///   - others: the requests of its flow for which it waits, as people name them.
  package init?(scheduling kind: Kind, until: Timestamp, number: Int, others: [String]) {
    let all: [Obstacle] = [
      .notBefore(until), .rateLimited(until: until), .backingOff(until: until), .waitsForLiveRequest(number: number),
      .waitsForTransfers, .transfersLimited(until: until), .waitsForOthers(others),
    ]
    guard let match = all.first(where: { $0.kind == kind }) else { return nil }
    self = match
  }

  /// The stable name of the kind in JSON and in spans.
  package var code: String { kind.rawValue }

  /// The obstacle in words, for people.
  package var text: String { detail.filling(kind.row.text) }

  /// The change that would remove the obstacle, in words for people.
  package var remedy: String { detail.filling(kind.row.remedy) }

  /// Whether the host cannot take the request until a person changes the fleet or the definition.
  package var isPermanent: Bool { kind.row.isPermanent }

  /// When the obstacle ends by itself; `nil` if that is unknown.
  package var clearsAt: Timestamp? {
    switch detail {
    case .until(let date): date
    case .reservation(_, let date), .namespace(_, let date): date
    case .key(let limit): limit.until
    case .none, .number, .quota, .saving, .others, .slots, .gpus, .job, .thermal, .label, .veto, .sandbox, .pause: nil
    }
  }

  /// The same obstacle with its time moved by `offset`, to convert it from one clock to another. A time of the host's
  /// own wall clock is not moved.
  package func shifted(by offset: Duration) -> Obstacle {
    if case .reservation(let pattern, let date) = detail { return .reserved(for: pattern, until: date + offset) }
    if case .namespace(let namespace, let date) = detail {
      return Obstacle(kind, .namespace(namespace, until: date + offset))
    }
    if case .key(var limit) = detail {
      limit.until = limit.until.map { $0 + offset }
      return Obstacle(kind, .key(limit))
    }
    guard let date = clearsAt, !kind.row.isOnHostClock else { return self }
    return Obstacle(kind, .until(date + offset))
  }
}

extension Obstacle.Detail {
  /// `template` with each `{word}` replaced by the value of that name.
  fileprivate func filling(_ template: String) -> String {
    let words = words
    guard !words.isEmpty else { return template }
    return template.replacing(/\{(\w+)\}/) { words[String($0.output.1)] ?? String($0.output.0) }
  }

  private var words: [String: String] {
    switch self {
    case .none, .until: [:]
    case .number(let number): ["number": "\(number)"]
    case .slots(let needed, let available):
      ["needed": "\(needed) slot\(needed == 1 ? "" : "s")", "available": "\(available)"]
    case .gpus(let needed, let available):
      ["needed": needed.text, "available": available == 0 ? "none" : "only \(available)"]
    case .job(let kind): ["kind": kind.rawValue]
    case .thermal(let state): ["state": state.name]
    case .label(let name, let wanted, let found): ["name": name, "wanted": wanted, "found": found ?? "missing"]
    case .veto(let veto): ["what": veto.what, "key": veto.key]
    case .sandbox(let level, let why): ["level": level.rawValue, "why": why]
    case .reservation(let pattern, _): ["pattern": pattern.rawValue]
    case .quota(let namespace, let needed, let used, let limit):
      ["namespace": namespace, "needed": "\(needed)", "used": "\(used)", "limit": "\(limit)"]
    case .namespace(let namespace, _): ["namespace": namespace]
    case .others(let names): ["others": names.first(8)]
    case .saving(let namespace, let pattern): ["namespace": namespace, "pattern": pattern.rawValue]
    case .key(let limit): ["key": limit.key.text, "limit": limit.limitText, "line": limit.line]
    case .pause(let pause): ["who": pause.by, "since": pause.sinceInWords, "reason": pause.reason]
    }
  }
}

extension [String] {
  /// The first elements with commas between, and how many follow.
  fileprivate func first(_ count: Int) -> String {
    let more = self.count - count
    return prefix(count).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }
}

/// Why the limit of a key keeps a request from starting, and its place among those that the key keeps.
package struct LimitObstacle: Hashable, Sendable {
  package var key: LimitKey
  /// How many may run at once, or start in `per`.
  package var limit: Int
  /// How many launches with the key run; `nil` for a rate.
  package var running: Int?
  /// The time of a rate; `nil` for a concurrency.
  package var per: Duration?
  /// Its place among the requests that wait for the key, from 1; `nil` beyond `lastPosition`.
  package var position: Int?
  /// The earliest time of its start, if nothing else that waits for the key is taken back; `nil` for a concurrency,
  /// and if its place is not known.
  package var until: Timestamp?

  package init(
    key: LimitKey, limit: Int, running: Int? = nil, per: Duration? = nil, position: Int? = nil,
    until: Timestamp? = nil
  ) {
    (self.key, self.limit, self.running, self.per) = (key, limit, running, per)
    (self.position, self.until) = (position, until)
  }

  /// Places beyond this one are not counted.
  package static let lastPosition = 1_000

  fileprivate var limitText: String {
    switch (running, per) {
    case (let running?, _): "\(running) of \(limit) run"
    case (nil, let per?): "\(limit) start in \(per.inWords)"
    case (nil, nil): "\(limit)"
    }
  }

  fileprivate var line: String { position.map { "number \($0) in line" } ?? "in line" }
}
