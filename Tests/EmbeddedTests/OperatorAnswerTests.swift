import BatonCoordinator
import BatonModel
import BatonStore
import BatonWorker
import Foundation
import Testing

/// What a coordinator tells operators about orders that it accepts, and about those that it does not.
@Suite("What operators are told", .timeLimit(.minutes(10))) final class OperatorAnswerTests {
  private let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private static func definition(
    _ pattern: String, _ kind: JobKind = .processing, _ change: (inout Requirements) -> Void = { _ in }
  ) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(pattern)!, kind: kind)
    definition.requirements.requiresIdle = false
    if kind == .continued { definition.title = "Job" }
    change(&definition.requirements)
    return definition
  }

  private static func warning(
    _ fleet: Fleet, _ identifier: String, earliest: EarliestBeginDate? = nil
  ) async throws -> String? {
    let order = SubmissionOrder(
      id: .randomIncarnation(), identifier: JobIdentifier(identifier)!, earliestBeginDate: earliest)
    let results = try await fleet.coordinator.submit([order], by: "test")
    guard case .accepted(_, _, let warning)? = results.first else { throw Surprise("not accepted: \(results)") }
    return warning
  }

  @Test("A definition that is not permitted here is not permitted, rather than in conflict")
  func permitted() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime(), permitted: [IdentifierPattern("org.*")!])
    let error = await #expect(throws: OperatorError.self) {
      _ = try await fleet.coordinator.apply([Self.definition("com.example.a")])
    }
    guard case .notPermitted(let message)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(message.contains("'com.example.a' may not be defined here"))
    #expect(message.contains("permittedIdentifiers"))
  }

  @Test("Only an earliest begin date that a continued job ignores gets a warning")
  func ignoredDate() async throws {
    let fleet = try Fleet()
    try await fleet.run([]) {
      _ = try await fleet.coordinator.apply([
        Self.definition("com.example.now", .continued), Self.definition("com.example.later"),
      ])
      let later = EarliestBeginDate.afterSubmission(.seconds(3600))
      let ignored = try await Self.warning(fleet, "com.example.now", earliest: later) ?? ""
      #expect(ignored.hasPrefix("its earliest begin date is ignored: a job of kind 'continued' starts as soon as"))
      #expect(ignored.contains("; no worker has connected yet"))
      #expect(try await Self.warning(fleet, "com.example.now")?.contains("ignored") == false)
      let atOnce = EarliestBeginDate.afterSubmission(.zero)
      #expect(try await Self.warning(fleet, "com.example.now", earliest: atOnce)?.contains("ignored") == false)
      #expect(try await Self.warning(fleet, "com.example.later", earliest: later) == nil)
    }
  }

  @Test("The warning names what every host lacks, rather than the first obstacle of one host")
  func obstacle() async throws {
    let fleet = try Fleet()
    let workers = ["alpha", "beta"].map { fleet.worker($0, folder: folder, [("com.example.*", { _ in })]) }
    try await fleet.run(workers) {
      try await fleet.attached(2)
      try await fleet.coordinator.setDraining(HostName("alpha"), true)
      _ = try await fleet.coordinator.apply([
        Self.definition("com.example.inference") { $0.gpu = GPURequirement() },
        Self.definition("com.example.wide") { $0.slots = 64 },
      ])
      let gpu = try await Self.warning(fleet, "com.example.inference") ?? ""
      #expect(gpu.hasPrefix("no known host could run it now (") && gpu.contains("1 GPU"), "\(gpu)")
      #expect(!gpu.contains("draining"), "\(gpu)")
      let wide = try await Self.warning(fleet, "com.example.wide") ?? ""
      #expect(wide.contains("(alpha: it needs 64 slots and the host has 4)"), "\(wide)")
    }
  }
}
