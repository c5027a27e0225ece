import BatonCoordinator
import BatonModel
import BatonStore
import BatonWorker
import Foundation
import Testing

/// `allow.principals` in worker.yaml: a host runs only what certain principals have submitted.
@Suite("Principals whom the owner of a host permits", .timeLimit(.minutes(10)))
struct PrincipalTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"

  private static let echo: Definition = {
    var definition = Definition(pattern: IdentifierPattern("com.example.echo.*")!, kind: .processing)
    definition.requirements.requiresIdle = false
    definition.work = Work(command: ["/bin/echo"], items: .range(1...1))
    return definition
  }()

  private func submit(_ name: String, by principal: String, to fleet: Fleet) async throws {
    let order = SubmissionOrder(
      id: .randomIncarnation(), identifier: JobIdentifier("com.example.echo." + name)!, payload: nil)
    guard case .accepted? = try await fleet.coordinator.submit([order], by: principal).first else {
      throw Surprise("\(name) was not accepted")
    }
  }

  @Test("requests of others wait, say why, and do not hold up those who come later")
  func waiting() async throws {
    let fleet = try Fleet()
    let worker = fleet.worker("one", folder: folder) {
      $0.sandbox.principals = ["alice", "ci-*"].compactMap { PrincipalPattern($0) }
    }
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([Self.echo])
      try await fleet.attached(1)
      try await submit("first", by: "bob", to: fleet)
      for (name, principal) in [("second", "alice"), ("third", "ci-7")] {
        try await submit(name, by: principal, to: fleet)
        #expect(try await fleet.ended("com.example.echo." + name).record.state == .succeeded)
      }
      let first = JobIdentifier("com.example.echo.first")!
      let explained = try await fleet.coordinator.explain(first, number: nil)
      let line = try #require(explained.lines.first { $0.code == "notPermittedOnHost" })
      #expect(line.text.contains("does not permit requests of the principal bob"))
      #expect(line.remedy.contains("'allow.principals'"))
      #expect(try await fleet.coordinator.request(first, number: nil).launches == 0)
    }
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test("another host takes them")
  func elsewhere() async throws {
    let fleet = try Fleet()
    let workers = [
      fleet.worker("one", folder: folder + "/1") { $0.sandbox.principals = [] },
      fleet.worker("two", folder: folder + "/2") { $0.sandbox.principals = [PrincipalPattern("bob")!] },
    ]
    try await fleet.run(workers) {
      _ = try await fleet.coordinator.apply([Self.echo])
      try await fleet.attached(2)
      try await submit("first", by: "bob", to: fleet)
      let details = try await fleet.ended("com.example.echo.first")
      #expect(details.launches.map(\.host) == [HostName("two")])
    }
    try? FileManager.default.removeItem(atPath: folder)
  }
}
