import BatonModel
import BatonStore

extension StoreConformance {
  static let definitions: [Case] = [
    Case("applying an equal definition again changes nothing, and a different one gets a number of its own") { s in
      let first = try await s.define { $0.title = "Export" }
      try expect(first.change, .created, "the first application")
      let again = try await s.define { $0.title = "Export" }
      try expect(again.change, .unchanged, "the same definition")
      try expect(again.id, first.id, "its number")
      let other = try await s.define { $0.title = "Import" }
      try expect(other.change, .updated, "another definition")
      try expect(other.id != first.id, "two definitions share a number")
      let stored = try await s.store.definitions()
      try expect(stored.map(\.definition.title), ["Import"], "what is applied")
      try expect(try await s.store.definition(first.id)?.title, "Export", "the frozen one")
    },
    Case("a definition is stored and read back with every part of it") { s in
      let applied = try await s.define("com.example.export.*", .continued) { definition in
        definition.title = "Exporting"
        definition.requirements = Requirements(
          externalPower: true, network: .unmetered, gpu: GPURequirement(count: 2, memoryBytes: 8 << 30), slots: 3)
        definition.work = Work(
          command: ["./run", "${wildcard}"], items: .range(1...10), batchSize: 4, environment: ["B": "2", "A": "1"])
        definition.earliestBeginDate = .afterSubmission(.seconds(900))
        definition.maxRunning = 4
      }
      let read = try require(try await s.store.definition(applied.id), "the definition")
      try expect(read.requirements.gpu, GPURequirement(count: 2, memoryBytes: 8 << 30), "the GPU requirement")
      try expect(read.work?.environment, ["A": "1", "B": "2"], "the environment")
      try expect(read.work?.items, .range(1...10), "the items")
      try expect(read.earliestBeginDate, .afterSubmission(.seconds(900)), "the earliest begin date")
      try expect(try await s.store.definition(DefinitionID(4711)) == nil, "an unknown number has a definition")
    },
    Case("overlapping wildcards are refused with both names, and nothing of the call is stored", rows: [2.5]) { s in
      try await s.define("com.example.*")
      let (literal, overlapping) = (
        Definition(pattern: try StoreScenario.pattern("other"), kind: .refresh),
        Definition(pattern: try StoreScenario.pattern("com.example.export.*"), kind: .refresh)
      )
      let seeds = [s.drawTrace(), s.drawTrace()]
      let (store, now) = (s.store, s.now)
      try await expectRefusal(.refused, saying: ["com.example.*", "com.example.export.*"]) {
        _ = try await store.apply([literal, overlapping], seeds: seeds, at: now)
      }
      try expect(try await s.store.definitions().count, 1, "definitions after the refusal")
      try await s.define("com.example.literal")
    },
    Case("removing a definition is refused while requests of it are unfinished") { s in
      let definition = try await s.define("com.*").id
      let first = try await s.submit("com.a", to: definition)
      try await s.submit("com.b", to: definition)
      let (store, pattern) = (s.store, try StoreScenario.pattern("com.*"))
      try await expectRefusal(.refused, saying: ["2 unfinished", "com."]) { try await store.remove(pattern) }
      _ = try await s.store.cancel(.all, by: "ada", at: s.now)
      try await s.store.remove(pattern)
      try expect(try await s.store.definitions().count, 0, "definitions after removal")
      try expect(try await s.record(first.request).pattern, pattern, "the pattern of an ended request")
      try await expectRefusal(.notFound, saying: ["com.*"]) { try await store.remove(pattern) }
      let answer = try await s.answer(to: try s.offer("com.c", to: definition))
      try expect(answer, .refused(.notPermitted(try StoreScenario.name("com.c"), nearest: nil)), "a submission to it")
      try expect(try await s.define("com.*").change, .created, "applying it again")
    },
  ]
}
