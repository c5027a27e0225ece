import BatonCoordinator
import BatonHandler
import BatonModel
import BatonStore
import BatonWorker
import ContractRows
import Foundation
import Synchronization
import Testing

@Suite("Requests that launches submit", .timeLimit(.minutes(10)))
struct LaunchSubmissionTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"

  private static func definition(_ name: String, maySubmit: [String] = []) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(name)!, kind: .processing)
    definition.requirements.requiresIdle = false
    definition.retry = RetryRule(limit: 3, backoff: .zero)
    if !maySubmit.isEmpty { definition.maySubmit = maySubmit.map { IdentifierPattern($0)! } }
    return definition
  }

  @Test("A handler submits its next request first, and each link follows once", .contract(9.2))
  func chain() async throws {
    let fleet = try Fleet()
    let links = Mutex<[(number: Int, link: Int, launch: Int)]>([])
    let worker = fleet.worker(
      "one", folder: folder,
      [
        (
          "com.example.links",
          { task in
            let link = try task.payload(as: Int.self)
            if link < 5 { try await task.submit("com.example.links", payload: link + 1) }
            links.withLock { $0.append((task.request, link, task.launch)) }
            // The first launch of each request fails after it has submitted.
            if task.launch == 1 { throw Surprise("it broke") }
          }
        )
      ])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([
        Self.definition("com.example.links", maySubmit: ["com.example.links"])
      ])
      try await fleet.submit("com.example.links", payload: Array("1".utf8))
      while links.withLock({ $0.count }) < 10 { await Task.yield() }
      _ = try await fleet.ended("com.example.links")
    }
    let seen = links.withLock { $0 }
    #expect(seen.map(\.number) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    #expect(seen.allSatisfy { $0.number == $0.link }, "a link was made twice")
    let records = try await fleet.coordinator.requests(RequestFilter(), after: nil, limit: 100)
    #expect(records.count == 5)
    #expect(records.allSatisfy { $0.state == .succeeded })
  }

  @Test("The request has the principal and the trace of the launch that submitted it")
  func origin() async throws {
    let fleet = try Fleet()
    let worker = fleet.worker(
      "one", folder: folder,
      [
        ("com.example.import", { task in try await task.submit("com.example.report", payload: ["day": 3]) }),
        (
          "com.example.report",
          { task in
            let payload = try task.payload(as: [String: Int].self)
            #expect(payload == ["day": 3])
            #expect(task.principal == "ada")
          }
        ),
      ])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([
        Self.definition("com.example.import", maySubmit: ["com.example.report"]),
        Self.definition("com.example.report"),
      ])
      let order = SubmissionOrder(id: "first", identifier: JobIdentifier("com.example.import")!)
      _ = try await fleet.coordinator.submit([order], by: "ada")
      let first = try await fleet.ended("com.example.import").record
      let second = try await fleet.ended("com.example.report")
      #expect(second.record.state == .succeeded, "\(second)")
      #expect(second.record.trace.traceID == first.trace.traceID)
      #expect(second.record.trace.spanID != first.trace.spanID)
    }
  }

  @Test("What maySubmit does not name is refused, and so is a definition that does not exist")
  func refusals() async throws {
    let fleet = try Fleet()
    let errors = Mutex<[HandlerError]>([])
    let worker = fleet.worker(
      "one", folder: folder,
      [
        (
          "com.example.import",
          { task in
            for identifier in ["com.example.other", "com.example.missing"] {
              do { try await task.submit(identifier) } catch let error as HandlerError {
                errors.withLock { $0.append(error) }
              }
            }
          }
        )
      ])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([
        Self.definition("com.example.import", maySubmit: ["com.example.missing"]),
        Self.definition("com.example.other"),
      ])
      try await fleet.submit("com.example.import")
      #expect(try await fleet.ended("com.example.import").record.state == .succeeded)
    }
    let found = errors.withLock { $0 }
    #expect(found.map(\.refusal) == [.notPermitted, .notPermitted])
    #expect(
      found.first?.message
        == "'com.example.import' may not submit 'com.example.other': add it to 'maySubmit' of its definition, and: baton "
        + "apply FILE")
    #expect(try await fleet.coordinator.requests(RequestFilter(), after: nil, limit: 10).count == 1)
  }

  @Test("No client can take the place of a submission that a launch will make")
  func reservedIDs() async throws {
    let fleet = try Fleet()
    let order = SubmissionOrder(id: "launch:1:00", identifier: JobIdentifier("com.example.import")!)
    try await fleet.run([]) {
      await #expect(throws: OperatorError.self) { try await fleet.coordinator.submit([order], by: "eve") }
    }
  }
}
