import BatonModel
import BatonStore

private let hour = Duration.seconds(3600)
private let day = Duration.seconds(86_400)

/// The requests of a repeating definition begin at multiples of its interval after the first one, whatever is submitted
/// in between.
extension StoreConformance {
  static let chains: [Case] = [
    Case("a nightly job that is poked in the afternoon runs in the night all the same") { s in
      let night = s.now.date + hour * 11
      let definition = try await s.define { ($0.earliestBeginDate, $0.repeatEvery) = (.at(night), day) }.id
      try await s.connect()
      try await s.poke("job", to: definition, .immediate)
      let poked = try await s.end(try await s.start(definition))
      try expect(poked.nextDue, NextDue(date: night), "the next date after the poke")
      s.advance(hour * 11)
      try expect(try await s.promote(), ["job"], "promoted in the night")
      let nightly = try await s.end(try await s.start(definition))
      try expect(nightly.nextDue, NextDue(date: night + day), "the date after that")
    },
    Case("a submission in the place of a chain's next request does not shift the chain") { s in
      let definition = try await s.define { $0.repeatEvery = hour }.id
      try await s.connect()
      let begun = s.now
      try await s.end(try await s.start(definition))
      try expect(
        try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(2000)) }.replaced,
        true, "replaced")
      s.advance(.seconds(2000))
      try expect(try await s.promote(), ["job"], "promoted when it was asked for")
      try expect(try await s.end(try await s.start(definition)).nextDue, begun.due(hour), "the next one")
    },
    Case("a replacement that starts late skips what it missed and stays on the chain's times") { s in
      let definition = try await s.define { $0.repeatEvery = hour }.id
      try await s.connect()
      let begun = s.now
      try await s.end(try await s.start(definition))
      try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(hour * 2 + .seconds(600)) }
      s.advance(hour * 2 + .seconds(600))
      try expect(try await s.promote(), ["job"], "promoted")
      try expect(try await s.end(try await s.start(definition)).nextDue, begun.due(hour * 3), "the next one")
    },
    Case("a chain that began at a date stays on the wall clock, and a step makes nothing run twice") {
      s in
      let first = s.now.date + hour
      let definition = try await s.define { ($0.earliestBeginDate, $0.repeatEvery) = (.at(first), day) }.id
      try await s.connect()
      s.advance(hour)
      try expect(try await s.promote(), ["job"], "the first one")
      try expect(
        try await s.end(try await s.start(definition)).nextDue, NextDue(date: first + day), "the second one's date")
      s.stepWallClock(by: day)
      try expect(try await s.promote(), ["job"], "promoted by a step of a day")
      let second = try await s.end(try await s.start(definition))
      try expect(second.nextDue, NextDue(date: first + day * 2), "the third one's date")
      try expect(try await s.promote(), [], "another one at once")
      s.stepWallClock(by: .zero - day)
      s.advance(day)
      try expect(try await s.promote(), [], "promoted before its date")
      s.advance(day)
      try expect(try await s.promote(), ["job"], "the third one")
      try expect(try await s.count(.succeeded), 2, "requests that ran")
    },
    Case("a dated chain that was late has its next date, and no other one") { s in
      let first = s.now.date
      let definition = try await s.define { ($0.earliestBeginDate, $0.repeatEvery) = (.at(first), day) }.id
      try await s.connect()
      s.advance(day * 3 + hour)
      let ending = try await s.end(try await s.start(definition))
      try expect(ending.nextDue, NextDue(date: first + day * 4), "the next date")
      try expect(try await s.count(.scheduled), 1, "requests that wait")
    },
    Case("a chain that began at no date stays on the steady clock") { s in
      let definition = try await s.define { $0.repeatEvery = hour }.id
      try await s.connect()
      let begun = s.now
      for step in [day, .zero - day, .zero - day * 3] {
        s.stepWallClock(by: step)
        try expect(try await s.promote(), [], "promoted by a step of \(step)")
      }
      try expect(try await s.end(try await s.start(definition)).nextDue, begun.due(hour), "the next one")
      s.advance(hour)
      try expect(try await s.promote(), ["job"], "promoted in time")
    },
    Case("a simulated launch before its time does not shift the chain") { s in
      let night = s.now.date + hour * 11
      let applied = try await s.define { ($0.earliestBeginDate, $0.repeatEvery) = (.at(night), day) }
      try await s.connect()
      let first = try require(applied.submitted, "the first request").request
      let launch = try await s.store.launchNow(first, on: s.place(), at: s.now)
      try expect(try await s.end(launch.launch).nextDue, NextDue(date: night), "the next date")
    },
    Case("a chain that begins in the place of a request that did not repeat is anchored there") { s in
      try await s.define { $0.repeatEvery = hour }
      _ = try await s.store.cancel(.all, by: "ada", at: s.now)
      s.advance(.seconds(500))
      let plain = try await s.define().id
      try await s.submit("job", to: plain) { $0.earliestBeginDate = .afterSubmission(day) }
      let repeating = try await s.define { $0.repeatEvery = hour }.id
      s.advance(.seconds(100))
      let begun = s.now
      try await s.connect()
      try expect(try await s.submit("job", to: repeating).replaced, true, "replaced")
      s.advance(.seconds(100))
      try expect(try await s.end(try await s.start(repeating)).nextDue, begun.due(hour), "the next one")
    },
    Case("... is anchored again") { s in
      let definition = try await s.define { $0.repeatEvery = hour }.id
      try await s.connect()
      _ = try await s.store.cancel(.identifier(try StoreScenario.name("job")), by: "ada", at: s.now)
      s.advance(.seconds(100))
      let begun = s.now
      try await s.submit("job", to: definition)
      try expect(try await s.end(try await s.start(definition)).nextDue, begun.due(hour), "the next one")
    },
  ]
}
