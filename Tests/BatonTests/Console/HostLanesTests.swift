import BatonModel
import BatonStore
import Testing

@testable import BatonConsole

/// The picture of a host's last day.
@Suite("Console: lanes of a host") struct HostLanesTests {
  private let start = now + .seconds(-86_400)

  private func change(_ ago: Int64, _ value: String?, number: Int64 = 0) -> ConditionChange {
    ConditionChange(number: number, at: now + .seconds(-ago), condition: "power", value: value, source: "sysfs")
  }

  private func bars(_ changes: [ConditionChange], now value: String? = "external") -> [HostLanes.Bar] {
    HostLanes.bars("power", changes, value, from: start, to: now)
  }

  private func launch(_ id: Int64, from: Int64, to: Int64?, _ outcome: LaunchOutcome.Kind? = nil) -> HostLaunch {
    HostLaunch(
      request: RequestID(id), identifier: JobIdentifier(trusted: "com.example.a"), number: Int(id), launch: 1,
      startedAt: now + .seconds(-from), endedAt: to.map { now + .seconds(-$0) }, outcome: outcome)
  }

  @Test func `a condition that has not changed had its value all day`() {
    let all = bars([])
    #expect(all.map(\.value) == ["external"] && all[0].from == start && all[0].to == now)
    #expect(all[0].look == "fine" && bars([], now: nil)[0].look == "unknown")
  }

  @Test func `each change begins a bar, whatever the order of the changes`() {
    let all = bars([
      change(60, "external", number: 3), change(3_600, "battery", number: 2), change(7_200, nil, number: 1),
    ])
    #expect(all.map(\.value) == [nil, "battery", "external"])
    #expect(all.map(\.look) == ["unknown", "away", "fine"])
    #expect(all[0].to == all[1].from && all[2].to == now)
  }

  @Test func `what was before the day is cut off`() {
    let all = bars([change(100_000, "battery", number: 1), change(90_000, "external", number: 2)])
    #expect(all.map(\.value) == ["external"] && all[0].from == start)
  }

  @Test func `launches at the same time have lanes of their own, and a free lane is used again`() {
    let history = HostHistory(launches: [
      launch(1, from: 500, to: 300, .finished), launch(2, from: 400, to: nil), launch(3, from: 200, to: 100, .failed),
    ])
    let lanes = HostLanes(history, of: .assumed, from: start, to: now).lanes.filter { !$0.isCondition }
    #expect(lanes.map { $0.bars.map(\.look) } == [["ended", "failed"], ["run"]])
    #expect(lanes.map(\.name) == ["launches", ""])
    #expect(lanes[1].bars[0].to == now)
  }

  @Test func `more launches at once than there are lanes are counted`() {
    let launches = (1...20).map { launch($0, from: 500, to: 100) }
    let lanes = HostLanes(HostHistory(launches: launches), of: .assumed, from: start, to: now)
    #expect(lanes.lanes.count { !$0.isCondition } == HostLanes.mostLaunchLanes)
    #expect(lanes.hidden == 8 && lanes.picture.text.contains("8 more launches"))
  }

  @Test func `the picture tells in words what its bars are, and nothing of strangers becomes markup`() {
    var history = HostHistory(conditions: [change(60, "<b>x</b>")], launches: [launch(1, from: 90, to: 30, .failed)])
    history.launches[0].reason = "no \"space\""
    let text = HostLanes(history, of: .assumed, from: start, to: now).picture.text
    #expect(text.contains("<title>&lt;b&gt;x&lt;/b&gt; for 1m, says sysfs</title>"))
    #expect(text.contains("com.example.a #1, launch 1: failed after 1m: no &quot;space&quot;"))
    #expect(text.contains("<a href=\"/requests/com.example.a/1\"") && !text.contains("<b>"))
  }
}
