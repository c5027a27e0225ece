import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import ContractRows
import SwiftProtobuf
import Testing

@testable import BatonCoordinator

/// What `explain` makes of obstacles (contract, row 45).
@Suite struct ExplainingTests {
  static let (a, b) = (HostName("a"), HostName("b"))
  static let noon = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

  private func explain(
    _ obstacles: [HostObstacle], state: RequestState = .ready, hosts: [Host] = [host("a"), host("b")]
  ) -> Explanation {
    let record = Self.record(state)
    let own = obstacles.filter { $0.host == nil }.map(\.obstacle)
    var explaining = Explaining(record: record, own: own, position: 3)
    for host in hosts {
      explaining.add(host, lastSeenAt: Self.noon, obstacles.filter { $0.host == host.name }.map(\.obstacle))
    }
    #expect(explaining.steps == obstacles.count, "each obstacle is looked at once")
    return explaining.explanation
  }

  @Test func `hosts that could take it come first, then those that are gone, then those that never could`() {
    let names = ["a", "b", "c", "d", "e"].map { HostName($0) }
    let explanation = explain(
      [
        on(names[0], .hostGone), on(names[0], .kindNotAccepted(.processing)), on(names[1], .kindNotAccepted(.refresh)),
        on(names[2], .hostGone), on(names[3], .slotsInUse(needed: 1, free: 0)), on(names[3], .needsExternalPower),
        on(names[4], .missingLabel(name: "x", wanted: "y", found: nil)),
      ], hosts: names.map { Self.host($0.rawValue) })
    #expect(explanation.lines.compactMap(\.host?.rawValue) == ["d", "d", "c", "b", "e", "a", "a"])
    #expect(explanation.advice.hasPrefix("2 changes start it: on d: wait until"))
  }

  @Test(.refuses(27))
  func `in a fleet of 10,000 hosts with 30 labels each obstacle is looked at once, and no page is too large`()
    throws
  {
    let hosts = 10_000
    let wanted = (0..<30).map { "label-\($0)-with-a-name-of-some-length" }
    let labels = Dictionary(uniqueKeysWithValues: wanted.map { ($0, "the value that the host has") })
    let record = Self.record(.ready)
    var explaining = Explaining(record: record, own: [])
    var reports: [HostReport] = []
    for index in 0..<hosts {
      let host = Self.host("host-\(index)") { conditions in
        conditions.labels = Reading(labels, source: "worker.yaml", raw: "\(labels)")
      }
      explaining.add(
        host, lastSeenAt: Self.noon,
        wanted.map { .missingLabel(name: $0, wanted: "another value", found: "the value that the host has") })
      reports.append(
        HostReport(
          name: host.name, state: .ready, version: "1", capabilities: host.capabilities, conditions: host.conditions,
          usedSlots: 0, running: [], lastSeenAt: Self.noon))
    }
    #expect(explaining.steps == hosts * wanted.count)
    let pages = try explaining.explanation.pages
    let sizes = try pages.map(Self.bytes)
    #expect(sizes.reduce(0, +) > CoordinatorClient.maximumMessageBytes, "or this shows nothing")
    #expect(sizes.max() ?? 0 < CoordinatorClient.maximumMessageBytes / 8)
    #expect(try Explanation(pages: pages) == explaining.explanation)
    let cut = try explaining.explanation.fittingIntoOneMessage
    #expect(try Self.bytes(of: cut) <= CoordinatorClient.maximumMessageBytes)
    #expect(cut.obstacles.last?.code == "answerTooLarge" && cut.obstacles.count > 1)
    let hostPages = try Pages.of(reports.lazy.map(\.proto))
    #expect(hostPages.map(\.bytes).reduce(0, +) > CoordinatorClient.maximumMessageBytes, "or this shows nothing")
    #expect(hostPages.map(\.bytes).max() ?? 0 <= 1 << 20)
    #expect(try hostPages.flatMap(\.elements).map(HostReport.init) == reports)
  }

  @Test func `an explanation of a small fleet fits into one page, and into one message`() throws {
    var explanation = explain([on(Self.a, .hostDraining)])
    explanation.order = Explanation.Order(
      lastUsedAt: Self.noon, hasRecentUse: true, classesAhead: 2, agedPriority: .utility,
      namespace: Explanation.NamespaceStanding(
        prefix: "com.example", weight: 3, use: 7_200, useOfAll: 9_000, ahead: ["", "org.example"]))
    explanation.reservation = Explanation.Reservation(host: Self.a, expectedAt: Self.noon + .seconds(60))
    #expect(try explanation.pages.count == 1)
    #expect(try Explanation(pages: explanation.pages) == explanation)
    #expect(try Explanation(explanation.fittingIntoOneMessage) == explanation)
    #expect(throws: (any Error).self) { try Explanation(pages: []) }
  }

  static func record(_ state: RequestState) -> RequestRecord {
    RequestRecord(
      id: RequestID(1), identifier: JobIdentifier("com.example.a")!, number: 1, definition: DefinitionID(1),
      pattern: IdentifierPattern("com.example.a")!, kind: .processing, state: state, priority: .background,
      submittedAt: noon, principal: "ada", eligibleAt: noon, isDated: true, launches: 0, progress: Progress(),
      ledger: Ledger(), trace: Desk.trace)
  }

  static func host(_ name: String, _ change: (inout Conditions) -> Void = { _ in }) -> Host {
    var conditions = Conditions.assumed
    change(&conditions)
    return Host(name: HostName(name), capabilities: Capabilities(slots: 1), conditions: conditions)
  }

  private static func bytes(of page: Baton_V1_ExplainReply) throws -> Int {
    let bytes: [UInt8] = try page.serializedBytes()
    return bytes.count
  }

  private func on(_ host: HostName?, _ obstacle: Obstacle) -> HostObstacle {
    HostObstacle(host: host, obstacle: obstacle)
  }

  @Test func `the one change is on the host with the fewest obstacles, by its name`() {
    let explanation = explain([
      on(Self.a, .hostDraining), on(Self.a, .needsExternalPower), on(Self.b, .hostDraining),
    ])
    #expect(
      explanation.advice
        == "one change starts it: on b: baton undrain b, or start its worker again if it shuts down")
    #expect(
      explanation.lines.map(\.remedy).first == "baton undrain a, or start its worker again if it shuts down")
    #expect(explanation.verdict == .waiting && explanation.position == 3)
  }

  @Test func `a change that takes several obstacles away is told once`() {
    let both = explain(
      [
        on(Self.a, .slotsInUse(needed: 1, free: 0)), on(Self.a, .gpusInUse(needed: GPURequirement(count: 1), free: 0)),
      ], hosts: [Self.host("a")])
    #expect(both.advice == "one change starts it: on a: wait until a launch there ends")
    #expect(both.lines.count == 2)
  }

  @Test func `a host whose certificates were revoked has to join again, and not only to start its worker`() {
    var explaining = Explaining(record: Self.record(.ready), own: [])
    explaining.add(Self.host("a"), lastSeenAt: nil, isRevoked: true, [.hostGone])
    let advice = "let it join again, because its certificates were revoked: baton host invite a"
    #expect(explaining.explanation.advice == "one change starts it: on a: \(advice)")
    #expect(explaining.explanation.lines.map(\.remedy) == [advice])
    #expect(explain([on(Self.a, .hostGone), on(Self.b, .hostGone)]).advice.hasSuffix("start its worker again"))
  }

  @Test func `what clears by itself says so, and when`() {
    let date = Self.noon + .seconds(60)
    let explanation = explain([on(nil, .backingOff(until: date)), on(Self.a, .hostGone)])
    #expect(
      explanation.advice == "one change starts it: wait, or: baton start com.example.a (backingOff ends by itself)")
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
      on(nil, .noHostHasGPU(needed: GPURequirement(count: 1))),
      on(Self.a, .hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0)),
      on(Self.b, .hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0)),
    ])
    #expect(
      explanation.advice == "no change on a present host starts it: it needs 1 GPU, and no connected host has enough; "
        + "connect a host with such GPUs, or ask for fewer")
    #expect(explanation.verdict == .impossible)
  }

  @Test func `a host that lacks the GPUs gives no advice where another one could be changed`() {
    let explanation = explain([
      on(Self.a, .hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0)), on(Self.b, .noHandler),
      on(Self.b, .kindNotAccepted(.processing)),
    ])
    #expect(explanation.advice.hasPrefix("2 changes start it: on b: "))
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
