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

  @Test func `an explanation is shared for a second, and not after the request has changed`() {
    let shared = SharedExplanations()
    var record = ExplainingTests.record(.ready)
    let explanation = Explaining(record: record, own: []).grouped
    let start = Instant(nanoseconds: 0)
    shared.keep(explanation, at: start)
    #expect(shared.explanation(of: record, at: start + .milliseconds(999)) == explanation)
    #expect(shared.explanation(of: record, at: start + .seconds(1)) == nil)
    record.launches += 1
    #expect(shared.explanation(of: record, at: start) == nil)
  }
}
