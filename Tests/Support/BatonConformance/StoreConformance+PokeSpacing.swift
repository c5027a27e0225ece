import BatonModel
import BatonStore

/// Many pokes start few launches (contract, row 41).
extension StoreConformance {
  static let pokeSpacing: [Case] = [
    Case("14 pokes inside one window start at most two launches, over two windows at most three", rows: [41.7]) { s in
      for (name, interval, lasting) in [
        ("com.brief", 60, 0), ("com.long", 60, 400), ("com.longer", 60, 1200), ("com.wide", 128, 0),
        ("com.wide-long", 128, 300),
      ] {
        let definition = try await s.define(name).id
        try await s.connect()
        let found = try await s.pokeInARow(name, definition, every: .seconds(interval), lasting: .seconds(lasting))
        let windows = interval * 13 < 900 ? 1 : 2
        try expect(found.launches <= windows + 1, "\(found.launches) launches in \(windows) windows of \(name)")
        try expect(found.pokes.map(\.id), (0..<14).map { "\(name)-\($0)" }, "the pokes of \(name)")
      }
    },
    Case("pokes are spaced by 15 minutes, or by what the definition says, on the steady clock", rows: [41.4]) { s in
      for (name, spacing) in [("job", nil), ("fast", Duration.seconds(60)), ("slow", .seconds(7200))] {
        let definition = try await s.define(name) { $0.pokeSpacing = spacing }.id
        try await s.connect()
        try await s.poke(name, to: definition)
        try await s.end(try await s.start(definition))
        s.stepWallClock(by: .seconds(86_400))
        let next = try await s.poke(name, to: definition)
        try await s.expectReady(next.request, after: spacing ?? .seconds(900), "the second poke of \(name)")
        _ = try await s.store.cancel(.all, by: "ada", at: s.now)
      }
    },
    Case("a poked refresh keeps the longer of both spacings, and a plain one is spaced from it") { s in
      let definition = try await s.define("job", .refresh) { $0.pokeSpacing = .seconds(60) }.id
      try await s.connect()
      try await s.poke("job", to: definition)
      try await s.end(try await s.start(definition, .utility))
      try expect(try await s.poke("job", to: definition).due, s.now.due(.seconds(900)), "the poked one")
      try expect(try await s.submit("job", to: definition).due, s.now.due(.seconds(900)), "a plain one")
      let frequent = try await s.define("job", .refresh) { ($0.allowFrequent, $0.pokeSpacing) = (true, .seconds(60)) }
      try expect(try await s.poke("job", to: frequent.id).due, s.now.due(.seconds(60)), "a frequent one")
    },
    Case("launches without a poke do not space pokes, except for launches of a refresh") { s in
      let (processing, launch) = try await s.running("job")
      try await s.end(launch)
      try expect(try await s.poke("job", to: processing).state, .ready, "a processing job")
      let (refresh, other) = try await s.running("other", .refresh)
      try await s.end(other)
      try expect(try await s.poke("other", to: refresh).due, s.now.due(.seconds(900)), "a refresh")
    },
    Case("an immediate poke is not spaced, and who sent it is written down", rows: [41.6]) { s in
      let definition = try await s.define().id
      try await s.connect()
      try await s.poke("job", to: definition)
      try await s.end(try await s.start(definition))
      let waiting = try await s.poke("job", to: definition)
      try expect(waiting.state, .scheduled, "a considerate one")
      let urgent = try await s.poke("job", to: definition, .immediate) { $0.principal = "bob" }
      try expect([urgent.state == .ready, urgent.request == waiting.request], [true, true], "ready, the same request")
      let another = try await s.poke("job", to: definition)
      try expect(another.state, .ready, "after another considerate one")
      try expect(try await s.record(waiting.request).poke, .immediate, "the mark")
      let events = try await s.store.events(of: waiting.request)
      try expect(events.map(\.name), ["pokedAtOnce", "poked"], "the events")
      try expect(events.map(\.detail), ["bob", "ada"], "who poked")
      try await s.end(try await s.start(definition))
      let alone = try await s.poke("job", to: definition, .immediate)
      try expect([alone.state == .ready, alone.replaced], [true, false], "ready, a request of its own")
      try expect(try await s.store.events(of: alone.request).map(\.name), ["pokedAtOnce"], "its events")
      try expect(
        try await s.store.pokes(of: waiting.request).map(\.priority), [.considerate, .immediate, .considerate],
        "the pokes")
    },
    Case("a poke waits for the live request, and is spaced when that has ended") { s in
      let definition = try await s.define().id
      try await s.connect()
      try await s.poke("job", to: definition)
      let (launch, begun) = (try await s.start(definition), s.now)
      s.advance(.seconds(60))
      try expect(try await s.poke("job", to: definition).due, NextDue(), "while it runs")
      try expect(try await s.end(launch).nextDue, begun.due(.seconds(900)), "after its end")
    },
  ]
}

extension StoreScenario {
  /// Sends 14 pokes at the given interval. A host takes every ready request at once, and each launch runs for
  /// `lasting`. Continues for an hour after the last poke.
  /// - Returns: how many launches there were, and the pokes that their requests stood for.
  mutating func pokeInARow(
    _ name: String, _ definition: DefinitionID, every interval: Duration, lasting: Duration
  ) async throws -> (launches: Int, pokes: [PokeRecord]) {
    var launches: [LaunchKey] = []
    var (nextPoke, sent, end) = (now.steady, 0, Timestamp.distantFuture)
    let until = now.steady + interval * 14 + .seconds(3600)
    while now.steady < until {
      if sent < 14, now.steady >= nextPoke {
        try await submit(name, to: definition, id: "\(name)-\(sent)") { $0.poke = .considerate }
        (sent, nextPoke) = (sent + 1, nextPoke + interval)
      }
      _ = try await store.promote(at: now, limit: 100)
      if let started = try await claim(definition).assignments.first {
        launches.append(started.launch)
        end = now.steady + lasting
      }
      if let last = launches.last, now.steady >= end {
        try await self.end(last)
        end = .distantFuture
      }
      advance(.seconds(4))
    }
    var pokes: [PokeRecord] = []
    for launch in launches { pokes += try await store.pokes(of: launch.request) }
    return (launches.count, pokes)
  }
}
