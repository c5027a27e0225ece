import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf
import Testing

@testable import BatonCoordinator

/// Reading at the size of a fleet: pages of hosts, groups of obstacles, curves of progress.
@Suite struct FleetReadingTests {
  private static let noon = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

  private static func report(_ index: Int, _ state: HostReport.State = .ready) -> HostReport {
    var conditions = Conditions.assumed
    conditions.power = Reading(index % 3 == 0 ? .battery : .external, source: "test")
    let labels = Dictionary(
      uniqueKeysWithValues: (0..<30).map { ("label-\($0)-with-a-name", String(repeating: "x", count: 60)) })
    conditions.labels = Reading(labels.merging(["site": index % 2 == 0 ? "home" : "lab"]) { $1 }, source: "worker.yaml")
    return HostReport(
      name: HostName("host-\(index)"), state: state, version: "1",
      capabilities: Capabilities(slots: 4, kinds: [.processing]), conditions: conditions, usedSlots: index % 5,
      running: [], lastSeenAt: noon)
  }

  @Test func `10,000 hosts with labels at their limit come in pages, none of which is over 1 MiB`() throws {
    let reports = (0..<10_000).map { Self.report($0) }
    var (found, after, largest, summary): ([HostReport], HostName?, Int, HostSummary?) = ([], nil, 0, nil)
    var pages = 0
    repeat {
      let proto = try HostPage(reports, HostFilter(), after: after, limit: 1000).proto
      let bytes: [UInt8] = try proto.serializedBytes()
      largest = max(largest, bytes.count)
      let page = try HostPage(proto)
      summary = summary ?? page.summary
      found += page.hosts
      after = page.hasMore ? page.hosts.last?.name : nil
      pages += 1
    } while after != nil
    #expect(largest <= 1 << 20)
    #expect(pages > 10)
    #expect(found == reports.sorted { $0.name < $1.name })
    #expect(summary?.total == 10_000 && summary?.conditions[.onBattery] == 3_334 && summary?.slots == 40_000)
  }

  @Test func `a filter chooses by name, state, labels and conditions, and all of them must hold`() {
    let reports = (0..<30).map { Self.report($0, $0 < 10 ? .gone : .ready) }
    func names(_ filter: HostFilter) -> [Int] {
      reports.indices.filter { filter.matches(reports[$0]) }
    }
    #expect(names(HostFilter(name: HostName("host-7"))) == [7])
    #expect(names(HostFilter(pattern: PrincipalPattern("host-1*"))) == [1] + Array(10...19))
    #expect(names(HostFilter(states: [.gone])) == Array(0..<10))
    #expect(names(HostFilter(labels: [.init(name: "site", value: "home")])).count == 15)
    #expect(names(HostFilter(labels: [.init(name: "nope", value: nil)])) == [])
    #expect(names(HostFilter(conditions: [.onBattery, .full])) == [9, 24])
    #expect(
      names(HostFilter(states: [.ready], labels: [.init(name: "site", value: nil)], conditions: [.onBattery])).count
        == 6)
  }

  @Test(arguments: ["states", "conditions", "labels", "pattern"])
  func `a filter with what is not known or too long is refused`(field: String) {
    let request = Baton_V1_FindHostsRequest.with {
      switch field {
      case "states": $0.states = ["asleep"]
      case "conditions": $0.conditions = ["tired"]
      case "labels": $0.labels = Array(repeating: "a=b", count: 65)
      default: $0.pattern = String(repeating: "a", count: 256)
      }
    }
    #expect(throws: WireError.self) { try HostFilter(request) }
  }

  @Test func `the groups of an explanation have every host once, in both forms`() {
    let needs = Obstacle.needsExternalPower
    var explaining = Explaining(record: ExplainingTests.record(.ready), own: [])
    for index in 0..<300 {
      let host = ExplainingTests.host("host-\(index)")
      explaining.add(host, lastSeenAt: Self.noon, index % 3 == 0 ? [] : index % 3 == 1 ? [needs] : [needs, .hostGone])
    }
    let (whole, grouped) = (explaining.explanation, explaining.grouped)
    #expect(grouped.advice == whole.advice && grouped.verdict == whole.verdict)
    let groups = grouped.groups
    #expect(groups?.groups.map(\.count) == [100, 100, 100])
    #expect(groups?.groups.first?.codes == [])
    #expect(groups?.rows.first == .init(code: needs.code, hosts: 200, alone: 100))
    #expect(Set(grouped.lines).isSubset(of: Set(whole.lines)))
    #expect(grouped.lines.count == 3)
  }

  @Test func `a curve has at most 60 points, from the first one to the present state`() {
    var curve = ProgressCurve()
    for second in 0..<10_000 {
      curve.add(.init(at: Self.noon + .seconds(second), batches: second, units: Int64(second * 2)))
      #expect(curve.points.count <= ProgressCurve.most)
    }
    #expect(curve.points.first?.batches == 0)
    #expect(curve.points.last?.units == 19_998)
    #expect(curve.points.map(\.at) == curve.points.map(\.at).sorted())
    #expect(curve.rate == 2)
    #expect(curve.timeLeft(of: 29_998) == .seconds(5_000))
    #expect(curve.timeLeft(of: nil) == nil)
    #expect(ProgressCurve(curve.proto).points == curve.points)
  }

  @Test func `a curve without progress has no rate`() {
    var curve = ProgressCurve()
    #expect(curve.rate == nil)
    curve.add(.init(at: Self.noon, batches: 1, units: 5))
    #expect(curve.rate == nil)
    curve.add(.init(at: Self.noon + .seconds(60), batches: 1, units: 5))
    #expect(curve.rate == nil && curve.timeLeft(of: 10) == nil)
  }

  /// Two shards of request 1 run, whose rows are 1 and 2.
  private static func dividedRequest() -> Desk {
    var desk = Desk()
    desk.tick()
    desk.learn(1, Desk.job { $0.spread = Spread(lanes: 2, shards: 2) })
    desk.attach(Desk.hello(slots: 2))
    var second = Desk.assignment(2)
    second.head = RequestID(1)
    desk.start(Desk.assignment(1), second)
    return desk
  }

  @Test func `the curve of a divided request is that of all its shards`() throws {
    var desk = Self.dividedRequest()
    let host = HostName("a")
    for second in 0...10 {
      if second > 0 { desk.advance(.seconds(1)) }
      desk.tick()
      desk.dispatcher.progressed(key(1), .batch(completed: Int64(second * 10), of: 100), on: host)
      desk.dispatcher.progressed(key(2), .batch(completed: Int64(second * 5), of: 100), on: host)
    }
    // 500 units were done by shards that have ended.
    let curve = try #require(desk.dispatcher.curve(of: RequestID(1), units: 650))
    // The first point of the part that counts may be between the two shards.
    #expect((14...16).contains(try #require(curve.rate)))
    #expect(curve.points.last == .init(at: desk.date, batches: 22, units: 650))
    #expect((.seconds(9)...(.seconds(11))).contains(try #require(curve.timeLeft(of: 800))))
    #expect(desk.dispatcher.launches(of: RequestID(1)) == [key(1), key(2)])
    #expect(desk.dispatcher.curve(of: RequestID(2), units: 0) == nil, "a shard is no request")
  }

  @Test func `the curve lasts as long as a launch of the request runs, also when its worker comes back`() throws {
    var desk = Self.dividedRequest()
    let host = HostName("a")
    desk.dispatcher.progressed(key(1), .batch(completed: 3, of: 100), on: host)
    desk.dispatcher.release(key(2))
    #expect(desk.dispatcher.curve(of: RequestID(1), units: 3)?.points.count == 1)
    // The worker says hello again, and the store knows of no progress yet.
    desk.dispatcher.hold(key(1), RunningState(Desk.assignment(1), at: desk.clocks), on: host)
    #expect(desk.dispatcher.curve(of: RequestID(1), units: 3)?.points.count == 1)
    desk.dispatcher.release(key(1))
    #expect(desk.dispatcher.curve(of: RequestID(1), units: 3) == nil)
    #expect(desk.dispatcher.active.isEmpty)
  }

  @Test func `of a request that runs at another coordinator too, no curve is known`() {
    var desk = Desk()
    desk.restore(running: [key(1)]) { $0.hosts[0].owner = 9 }
    #expect(desk.dispatcher.launches(of: RequestID(1)) == [key(1)])
    #expect(desk.dispatcher.curve(of: RequestID(1), units: 3) == nil)
  }

  @Test func `units that a worker takes back, and units without end, make no curve overflow`() {
    var curve = ProgressCurve()
    for second in 0..<100_000 {
      curve.add(batches: 1, units: 1 << 53, at: Self.noon + .seconds(second))
    }
    #expect((curve.points.last?.units ?? 0) <= Int64(1) << 60)
    #expect(curve.ending(at: 7).points.last?.units == 7)
    #expect(curve.ending(at: 7).points.first?.units == 0)
  }
}
