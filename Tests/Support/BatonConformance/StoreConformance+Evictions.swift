import BatonModel
import BatonStore

/// A definition or identifier that an operator evicted from a host is not started there until it is allowed again
/// (contract, row 25).
extension StoreConformance {
  static let evictions: [Case] = [
    Case("a claim takes no request of a principal whom the host's owner does not permit") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      for (index, name) in ["bob", "ci-7", "alice", "c[i]?", "ci"].enumerated() {
        try await s.submit("com.\(index)", to: definition) { $0.principal = name }
      }
      func patterns(_ texts: String...) -> [PrincipalPattern] { texts.compactMap { PrincipalPattern($0) } }
      let none = try await s.claim(definition, places: 9, principals: [])
      try expect(none.assignments, [], "for nobody")
      try expect([none.hasMore, none.hasFitting], [true, false], "hasMore, hasFitting")
      let some = try await s.claim(definition, places: 9, principals: patterns("alice", "ci-*", "a\"\\"))
      try expect(some.assignments.map(\.principal), ["ci-7", "alice"], "in their order")
      try expect([some.hasMore, some.hasFitting], [true, false], "hasMore, hasFitting")
      // Only `*` is a wildcard.
      let odd = try await s.claim(definition, places: 9, principals: patterns("c[i]?"))
      try expect(odd.assignments.map(\.principal), ["c[i]?"], "without wildcards")
      let all = try await s.claim(definition, places: 9)
      try expect(all.assignments.map(\.principal), ["bob", "ci"], "the others")
    },
    Case("an evicted identifier is passed over on its host, and taken by another") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      try await s.connect(HostName("beta"), Incarnation("beta-1"))
      for name in ["com.a", "com.b", "com.c"] { try await s.submit(name, to: definition) }
      try await s.store.setEvicted(try StoreScenario.pattern("com.a"), from: StoreScenario.host, true)
      let one = try await s.claim(definition)
      try expect(one.assignments.map(\.identifier.rawValue), ["com.b"], "what starts")
      try expect([one.hasMore], [true], "hasMore")
      let rest = try await s.claim(definition, places: 5)
      try expect(rest.assignments.map(\.identifier.rawValue), ["com.c"], "what starts next")
      try expect(rest.hasMore, true, "hasMore with only what was passed over left")
      let none = try await s.claim(definition)
      try expect([none.assignments.isEmpty, none.hasMore], [true, true], "nothing, and hasMore")
      let elsewhere = try await s.claim(definition, on: HostName("beta"), Incarnation("beta-1"))
      try expect(elsewhere.assignments.map(\.identifier.rawValue), ["com.a"], "what starts elsewhere")
      try expect(elsewhere.hasMore, false, "hasMore there")
    },
    Case("an evicted wildcard keeps all its instances away, and nothing else") { s in
      let (definition, outer) = (try await s.define("com.a.*").id, try await s.define("org.*").id)
      try await s.connect()
      for name in ["com.a.1", "com.a.2"] { try await s.submit(name, to: definition) }
      for name in ["org.ab", "org.a", "org.A.1"] { try await s.submit(name, to: outer) }
      try await s.store.setEvicted(try StoreScenario.pattern("com.a.*"), from: StoreScenario.host, true)
      try await s.store.setEvicted(try StoreScenario.pattern("org.a.*"), from: StoreScenario.host, true)
      let evicted = try await s.claim(definition, places: 5)
      try expect([evicted.assignments.isEmpty, evicted.hasMore], [true, true], "nothing, and hasMore")
      let others = try await s.claim(outer, places: 5)
      try expect(others.assignments.map(\.identifier.rawValue), ["org.ab", "org.a", "org.A.1"], "what is no instance")
      try expect(others.hasMore, false, "hasMore")
      try await s.submit("org.a.1", to: outer)
      try expect(try await s.claim(outer, places: 5).assignments, [], "an instance of another's eviction")
    },
    Case("an evicted request that could start at once waits") { s in
      let definition = try await s.define().id
      try await s.connect()
      try await s.store.setEvicted(try StoreScenario.pattern("job"), from: StoreScenario.host, true)
      var offer = try s.offer("job", to: definition)
      offer.host = s.place()
      let answer = try await s.answer(to: offer)
      try expect([try answer.receipt.state], [.ready], "the state")
      try expect(answer.launch == nil, "it was started")
    },
    Case("an eviction stays until it is taken back, across leases, and is answered with its host") { s in
      let (definition, launch) = try await s.running()
      let job = try StoreScenario.pattern("job")
      for _ in 0..<2 { try await s.store.setEvicted(job, from: StoreScenario.host, true) }
      try await s.end(launch, .expired(.evicted))
      try await s.endLease()
      try await s.connect()
      try expect(try await s.store.fleet().hosts.map(\.evictions), [[job]], "evictions")
      try expect(try await s.claim(definition).assignments, [], "claimed while it is evicted")
      try await s.store.setEvicted(job, from: StoreScenario.host, false)
      try expect(try await s.store.fleet().hosts.map(\.evictions), [[]], "evictions afterwards")
      _ = try await s.start(definition)
    },
    Case("nothing can be evicted from a host that was never there") { s in
      let (store, job) = (s.store, try StoreScenario.pattern("job"))
      try await expectRefusal(.notFound, saying: ["nobody"]) {
        try await store.setEvicted(job, from: HostName("nobody"), true)
      }
    },
  ]
}
