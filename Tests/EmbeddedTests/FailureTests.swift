import BatonCoordinator
import BatonHandler
import BatonModel
import BatonStore
import BatonWorker
import Foundation
import Synchronization
import Testing

/// What a definition says about failures, on a coordinator and a worker that run.
@Suite("What follows a failure", .timeLimit(.minutes(10)))
struct FailureTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"

  private static func definition(_ name: String, _ change: (inout Definition) -> Void = { _ in }) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(name)!, kind: .processing)
    definition.requirements.requiresIdle = false
    definition.retry = RetryRule(limit: 3, backoff: .zero)
    change(&definition)
    return definition
  }

  @Test("A job that fails is repaired by another one, whose success submits it again, all in one trace")
  func repair() async throws {
    let fleet = try Fleet()
    let isRepaired = Mutex(false)
    let worker = fleet.worker(
      "one", folder: folder,
      [
        (
          "com.example.store",
          { task in
            guard isRepaired.withLock({ $0 }) else { throw Surprise("there is no box") }
            if let job = try? task.payload(as: EndedJob.self) { #expect(job.state == .succeeded) }
          }
        ),
        (
          "com.example.repair",
          { task in
            let job = try task.payload(as: EndedJob.self)
            #expect(job.state == .failed)
            #expect(job.reason?.contains("there is no box") == true)
            #expect(job.failure == "Surprise")
            #expect(task.principal == "test")
            isRepaired.withLock { $0 = true }
          }
        ),
      ])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([
        Self.definition("com.example.store") { definition in
          definition.retry.notOn = [FailureKind(rawValue: "Surprise")]
          definition.onFailure = FollowUp("com.example.repair")
        },
        Self.definition("com.example.repair") { $0.onSuccess = FollowUp("com.example.store") },
      ])
      try await fleet.submit("com.example.store")
      let done = RequestFilter(states: [.succeeded])
      while try await fleet.coordinator.requests(done, after: nil, limit: 9).count < 2 { await Task.yield() }
    }
    let records = try await fleet.coordinator.requests(RequestFilter(), after: nil, limit: 9)
    #expect(
      records.map(\.identifier.rawValue).sorted() == ["com.example.repair", "com.example.store", "com.example.store"])
    #expect(Set(records.map(\.trace.traceID)).count == 1)
    let failed = try #require(records.first { $0.state == .failed })
    #expect(failed.launches == 1, "it is not tried again")
  }

  @Test("A batch that takes too long fails its launch, and is skipped when it does so again")
  func lateBatch() async throws {
    let fleet = try Fleet()
    let job = Self.definition("com.example.slow") { definition in
      definition.work = Work(
        command: ["/bin/sh", "-c", "test $BATON_BATCH != 1 || sleep 600"], items: .range(1...3))
      definition.closingWindow = .seconds(1)
      definition.batchTimeout = .seconds(1)
      definition.retry.skipBatchAfter = 2
    }
    let worker = fleet.worker("one", folder: folder)
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([job])
      try await fleet.submit("com.example.slow")
      let details = try await fleet.ended("com.example.slow")
      #expect(details.record.state == .succeeded)
      #expect(details.record.skippedBatches == [1])
      #expect(details.record.launches == 3)
      #expect(details.launches.map(\.outcome) == [.failed, .failed, .finished])
      #expect(details.launches.first?.reason == "batch 1 took longer than 'batchTimeout' (1s)")
    }
  }
}
