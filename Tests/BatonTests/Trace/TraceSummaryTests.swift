import BatonModel
import BatonTelemetry
import Testing

@testable import BatonCommands
@testable import BatonJSON

/// Where the time of a request went.
@Suite struct TraceSummaryTests {
  @Test func `a slow request says what it waited for, where it ran and why it expired`() {
    let summary = TraceSummary(TraceSample.slow)
    #expect(summary.state == .succeeded)
    #expect(!summary.isOpen)
    #expect(summary.endedAt == TraceSample.at(943.5))
    #expect(summary.total == .milliseconds(943_500))
    #expect(summary.waiting == .milliseconds(761_500))
    #expect(summary.running == .milliseconds(182_000))
    #expect(summary.scheduled == .zero)
    #expect(summary.unexplained == .zero)
    #expect(
      summary.obstacles == [
        .init(code: "needsExternalPower", time: .milliseconds(761_500)), .init(code: "slotsInUse", time: .seconds(70)),
      ])
    #expect(summary.hosts == ["anna", "ben"])
    #expect(summary.launches == 2)
    #expect(summary.batches == 21)
    #expect(summary.endings == [.init(outcome: .expired, reason: "powerLost", count: 1)])
  }

  @Test(arguments: TraceTextTests.samples.keys.sorted())
  func `every moment is spent on one thing`(name: String) throws {
    let trace = try #require(TraceTextTests.samples[name])
    let timeline = TraceTimeline(trace)
    let summary = TraceSummary(trace)
    #expect(summary.scheduled + summary.waiting + summary.running + summary.ended == summary.total)
    #expect(timeline.segments.first?.time.from == timeline.whole.from)
    #expect(timeline.segments.last?.time.to == timeline.whole.to)
    for (one, next) in zip(timeline.segments, timeline.segments.dropFirst()) {
      #expect(one.time.to == next.time.from)
      #expect(one.phase != next.phase)
    }
  }

  @Test func `time that a wait and a launch share is running`() {
    let trace = TraceSample.made { sample in
      sample.wait(0, 60)
      sample.launch(40, 100, on: "anna", .finished)
      sample.complete(100, .succeeded)
    }
    let summary = TraceSummary(trace)
    #expect([summary.waiting, summary.running] == [.seconds(40), .seconds(60)])
  }

  static let sentences: [String: String] = [
    "slow": "waited 12m 41s (needsExternalPower, slotsInUse 1m 10s), ran 3m 2s on 2 hosts, 1 expiry (powerLost)",
    "running": "scheduled 5m (notBefore), waited 10s (slotsInUse), ran 1m 29s so far on anna",
    "waiting": "waited 1h 30m so far (hostGone 30m, needsNetwork 30m, 30m not known)",
    "scheduled": "scheduled 1m 30s so far",
    "failed": """
    scheduled 10s (backingOff), ran 1m 29s on 2 hosts, 10m between its end and the retry, 1 launch lost, \
    2 launches failed, batch 7 skipped
    """,
    "long": """
    waited 5d 3h (needsIdleHost), ran 8d 8h on 2 hosts, 178 expiries (142 hostBusy, 36 powerLost), 22 launches lost
    """,
  ]

  @Test(arguments: sentences.keys.sorted()) func `the sentence`(name: String) throws {
    let trace = try #require(TraceTextTests.samples[name])
    #expect(TraceSummary(trace).sentence == Self.sentences[name])
  }

  @Test(arguments: [
    (["ben"], 1, "waited 3s (slotsInUse on ben)"), (["anna", "ben"], 2, "waited 3s (slotsInUse on anna and ben)"),
    (["anna", "ben", "carl"], 40, "waited 3s (slotsInUse on anna and 39 more)"),
  ]) func `a wait names the hosts that could have taken it`(hosts: [String], count: Int, words: String) {
    let trace = TraceSample.made { sample in
      sample.wait(0, 3)
      sample.event(Names.Event.obstacleCame, 0, "slotsInUse", as: Names.Attribute.obstacle)
      sample.spans[sample.spans.count - 1].events[0].attributes += [
        Attribute(Names.Attribute.obstacleHosts, .strings(hosts)),
        Attribute(Names.Attribute.obstacleHostCount, .int(Int64(count))),
      ]
      sample.launch(3, 5, on: "ben", .finished)
      sample.complete(5, .succeeded)
    }
    #expect(TraceSummary(trace).sentence == words + ", ran 2s on ben")
    #expect(TraceSummary(trace).obstacles.map(\.hosts) == [hosts])
  }

  static func wait(_ obstacles: [(code: String, came: Double, went: Double?)], lost: Bool = false) -> TraceSummary {
    TraceSummary(
      TraceSample.made { sample in
        sample.wait(0, 100, obstacles, isHistoryLost: lost)
        sample.complete(100, .cancelled)
      })
  }

  @Test(
    arguments: [
      ([], false, "waited 1m 40s"),
      ([], true, "waited 1m 40s (1m 40s not known)"),
      ([("a", 0, 100)], false, "waited 1m 40s (a)"),
      ([("a", 0, 96)], false, "waited 1m 40s (a)"),
      ([("a", 0, 40)], false, "waited 1m 40s (a 40s, 1m without an obstacle)"),
      ([("a", 60, nil)], true, "waited 1m 40s (a 40s, 1m not known)"),
      ([("a", 0, 100), ("b", 0, 4)], false, "waited 1m 40s (a)"),
      ([("a", 0, 60), ("b", 40, 100)], false, "waited 1m 40s (a 1m, b 1m)"),
      ([("a", 0, 20), ("a", 80, nil), ("b", 20, 80)], false, "waited 1m 40s (b 1m, a 40s)"),
      (
        [("a", 0, 40), ("b", 0, 50), ("c", 0, 60), ("d", 0, 70), ("e", 0, 80)], false,
        "waited 1m 40s (e 1m 20s, d 1m 10s, c 1m, 2 more, 20s without an obstacle)"
      ),
    ] as [([(String, Double, Double?)], Bool, String)])
  func `obstacles are told by how long they were there`(
    obstacles: [(String, Double, Double?)], lost: Bool, sentence: String
  ) {
    #expect(Self.wait(obstacles.map { (code: $0.0, came: $0.1, went: $0.2) }, lost: lost).sentence == sentence)
  }

  @Test func `an obstacle that goes without having come was there from the beginning`() {
    let trace = TraceSample.made { sample in
      sample.wait(10, 100)
      sample.event(Names.Event.obstacleWent, 70, "tooHot", as: Names.Attribute.obstacle)
      sample.complete(100, .cancelled)
    }
    #expect(TraceSummary(trace).obstacles == [.init(code: "tooHot", time: .seconds(60))])
  }

  @Test(
    arguments: [
      ([], .scheduled), ([.wait], .ready), ([.launch], .running), ([.wait, .launch], .running),
    ] as [([Names.Span], RequestState)])
  func `open spans decide the state`(open: [Names.Span], state: RequestState) {
    let trace = TraceSample.made { sample in
      sample.readAt = 9
      for role in open { sample.add(role, 5, nil) }
    }
    #expect(trace.state == state)
    #expect(TraceSummary(trace).endedAt == nil)
  }

  @Test(arguments: [RequestState.succeeded, .failed, .cancelled])
  func `the last completion says the state`(state: RequestState) {
    let trace = TraceSample.made { sample in
      sample.complete(5, .failed)
      sample.launch(8, 20, on: "anna", .finished)
      sample.complete(20, state)
    }
    #expect(TraceSummary(trace).state == state)
    #expect(TraceSummary(trace).ended == .seconds(3))
  }

  @Test func `a request that was retried and waits again has not ended`() {
    let trace = TraceSample.made { sample in
      sample.complete(5, .failed)
      sample.readAt = 20
      sample.wait(8, nil)
    }
    #expect(TraceSummary(trace).endedAt == nil)
    #expect(TraceSummary(trace).sentence == "scheduled 5s, waited 12s so far, 3s between its end and the retry")
  }

  @Test func `a request that took no time says so`() {
    #expect(TraceSummary(TraceSample.made { $0.complete(0, .cancelled) }).sentence == "nothing took time yet")
  }
}
