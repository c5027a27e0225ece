import BatonModel
import BatonStore

/// The last use of a definition by a person is kept over restarts, so that its requests still go first (contract, row
/// 25).
extension StoreConformance {
  static let using: [Case] = [
    Case("the last use of a definition is kept, and an earlier one that comes late changes nothing") { s in
      try await s.define("a")
      try await s.define("b.*")
      let (a, b) = (try StoreScenario.pattern("a"), try StoreScenario.pattern("b.*"))
      try expect(try await s.store.fleet().lastUses, [:], "before any use")
      let later = s.now.steady + .seconds(600)
      try await s.store.noteUses([a: later, b: s.now.steady])
      try await s.store.noteUses([a: s.now.steady])
      try expect(try await s.store.fleet().lastUses, [a: later, b: s.now.steady], "the last uses")
    },
    Case("a use of a definition outlives its next version, and one of a job that is not there is left out") { s in
      try await s.define("a")
      let (a, unknown) = (try StoreScenario.pattern("a"), try StoreScenario.pattern("unknown"))
      try await s.store.noteUses([a: s.now.steady, unknown: s.now.steady])
      try await s.define("a") { $0.title = "newer" }
      try expect(try await s.store.fleet().lastUses, [a: s.now.steady], "the last uses")
    },
  ]
}
