import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Testing

/// What `explain` makes of obstacles (contract, row 45).
@Suite struct ExplainingTests {
  static let (a, b) = (HostName("a"), HostName("b"))
  static let noon = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

  private func explain(
    _ obstacles: [HostObstacle], state: RequestState = .ready, hosts: [Host] = [host("a"), host("b")]
  ) -> Explanation {
    let record = RequestRecord(
      id: RequestID(1), identifier: JobIdentifier("com.example.a")!, number: 1, definition: DefinitionID(1),
      pattern: IdentifierPattern("com.example.a")!, kind: .processing, state: state, priority: .background,
      submittedAt: Self.noon, principal: "ada", eligibleAt: Self.noon, launches: 0, progress: Progress(),
      ledger: Ledger(), trace: Desk.trace)
    let known = Dictionary(
      uniqueKeysWithValues: hosts.map { ($0.name, (host: $0, lastSeenAt: Self.noon as Timestamp?)) })
    return Explaining(record: record, obstacles: obstacles, hosts: known, position: 3).explanation
  }

  static func host(_ name: String, _ change: (inout Conditions) -> Void = { _ in }) -> Host {
    var conditions = Conditions.assumed
    change(&conditions)
    return Host(name: HostName(name), capabilities: Capabilities(slots: 1), conditions: conditions)
  }

  private func on(_ host: HostName?, _ obstacle: Obstacle) -> HostObstacle {
    HostObstacle(host: host, obstacle: obstacle)
  }

  @Test func `the one change is on the host with the fewest obstacles, by its name`() {
    let explanation = explain([
      on(Self.a, .hostDraining), on(Self.a, .needsExternalPower), on(Self.b, .hostDraining),
    ])
    #expect(explanation.advice == "one change starts it: on b: baton undrain b, or start its worker again")
    #expect(explanation.lines.map(\.remedy).first == "baton undrain a, or start its worker again")
    #expect(explanation.verdict == .waiting && explanation.position == 3)
  }

  @Test func `what clears by itself says so, and when`() {
    let date = Self.noon + .seconds(60)
    let explanation = explain([on(nil, .backingOff(until: date)), on(Self.a, .hostGone)])
    #expect(explanation.advice == "one change starts it: wait (backingOff ends by itself)")
    #expect(explanation.lines[0].clearsAt == date && explanation.lines[1].clearsAt == nil)
    #expect(explanation.lines[1].reportedAt == Self.noon)
  }

  @Test func `several changes are counted, and the fleet's own come first`() {
    let explanation = explain([on(nil, .fleetPaused), on(Self.a, .noHandler), on(Self.b, .noHandler)])
    #expect(explanation.advice.hasPrefix("2 changes start it: baton resume; on a: deploy a worker"))
    #expect(explanation.verdict == .impossible)
  }

  @Test func `a fleet without GPUs and a host without them are one thing to change`() {
    let explanation = explain([
      on(nil, .noHostHasGPU(needed: 1)), on(Self.a, .hostHasNoGPU(needed: 1, suitable: 0)),
      on(Self.b, .hostHasNoGPU(needed: 1, suitable: 0)),
    ])
    #expect(explanation.advice == "one change starts it: on a: add a host with such GPUs, or ask for fewer")
    #expect(explanation.verdict == .impossible)
  }

  @Test func `without hosts the advice is to start a worker, and that is not impossible`() {
    let explanation = explain([on(nil, .noHosts)], hosts: [])
    #expect(explanation.advice == "one change starts it: start a worker: baton-worker --name NAME")
    #expect(explanation.verdict == .waiting)
  }

  @Test func `nothing in the way, nothing to change; what runs or has ended needs no advice`() {
    #expect(explain([]).advice == "nothing keeps it from starting: it starts in a moment")
    #expect(explain([], state: .running).advice.isEmpty && explain([], state: .running).verdict == .running)
    #expect(explain([], state: .succeeded).verdict == .ended)
  }

  @Test func `an obstacle of the conditions says who says so, and a simulated one how to end it`() {
    let host = Self.host("a") { conditions in
      conditions.power = Reading(.battery, source: "simulated", raw: "Mains")
      conditions.battery = Reading(10, source: "sysfs", raw: "10")
      conditions.thermal = Reading(.serious, source: "sysfs", raw: "84000")
    }
    let lines = explain(
      [
        on(Self.a, .batteryLow(percent: 10)), on(Self.a, .tooHot(.serious)),
        on(Self.a, .slotsInUse(needed: 1, free: 0)),
      ],
      hosts: [host]
    ).lines
    #expect(lines.map(\.source) == ["simulated", "sysfs", nil])
    #expect(lines.map(\.raw) == ["Mains", "84000", nil])
    #expect(lines[0].remedy == "baton simulate conditions a --end")
  }
}
