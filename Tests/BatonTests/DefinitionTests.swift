import BatonModel
import BatonStore
import Foundation
import Synchronization
import Testing

@testable import BatonCoordinator

/// What operators see of the definitions that they have applied, and before they apply others.
@Suite struct DefinitionTests {
  private static let pattern = IdentifierPattern(trusted: "com.example.report")

  private static var report: Definition {
    var definition = Definition(pattern: pattern, kind: .processing)
    definition.title = "Report: all of it"
    definition.work = Work(
      command: ["./report.sh", "--to", "yes"], directory: "/srv/report", items: .range(1...60), batchSize: 5)
    return definition
  }

  private static var world: World {
    World { state in
      var photos = Definition(pattern: IdentifierPattern(trusted: "com.example.photos.*"), kind: .continued)
      (photos.title, photos.maxRunning) = ("Photos", 4)
      state.reports = [
        DefinitionReport(definition: photos, appliedAt: now + .seconds(-90), counts: [.running: 2, .failed: 1]),
        DefinitionReport(
          definition: report, appliedAt: now + .seconds(-7_200), counts: [.scheduled: 1, .ready: 2, .succeeded: 40]),
        DefinitionReport(
          definition: Definition(pattern: IdentifierPattern(trusted: "com.example.spoilt"), kind: .processing),
          appliedAt: now, problem: "'slots' must be from 1 to 1024, not 0"),
      ]
    }
  }

  @Test(arguments: [
    ("definitions", ["definitions"]), ("definitions-json", ["definitions", "com.example.report", "-o", "json"]),
    ("definitions-yaml", ["definitions", "com.example.report", "com.example.photos.*", "-o", "yaml"]),
    ("definitions-missing", ["definitions", "com.example.nope"]),
  ]) func `output is golden`(name: String, arguments: [String]) async throws {
    try Golden.expect(await Self.world.baton(arguments).transcript, is: name)
  }

  @Test func `a fleet without definitions says how to apply one`() async {
    let run = await World().baton("definitions")
    #expect(run.status == 0)
    #expect(run.error.contains("baton apply FILE"))
    #expect(await World().baton("definitions", "-o", "json").output == "[]\n")
  }

  @Test func `an identifier names the wildcard to which it belongs`() async {
    let run = await Self.world.baton("definitions", "com.example.photos.export")
    #expect(run.status == 0)
    #expect(run.output.contains("com.example.photos.*"))
    #expect(!run.output.contains("com.example.report"))
  }

  @Test func `show writes the definition that a request runs`() async throws {
    let world = Self.world
    world.coordinator.state.withLock { $0.requests = [.example(number: 1, .ready)] }
    let run = await world.baton("show", "com.example.report", "--definition")
    try Golden.expect(run.transcript, is: "show-definition")
    #expect(world.coordinator.calls.contains("definition of com.example.report 1"))
  }

  private static let changed = """
    identifier: com.example.report
    kind: processing
    title: "Report: all of it"
    budget: 20m
    work: {command: [./report.sh, --to, "no"], directory: /srv/report, items: {range: 1...60}}
    ---
    identifier: com.example.new
    kind: refresh
    """

  @Test(arguments: [["plan"], ["apply", "--dry-run"]])
  func `a plan tells each key that differs, and changes nothing`(command: [String]) async throws {
    try await withTemporaryFolder { folder in
      try write(Self.changed, to: folder + "/job.yaml")
      let world = Self.world
      let run = await world.baton(command + [folder + "/job.yaml"])
      try Golden.expect(run.output, is: "plan")
      #expect(run.status == 2)
      #expect(!world.coordinator.calls.contains { $0.hasPrefix("apply") })
      try Golden.expect(await world.baton(command + [folder + "/job.yaml", "-o", "json"]).output, is: "plan-json")
    }
  }

  @Test func `what 'definitions' writes plans to no change`() async throws {
    try await withTemporaryFolder { folder in
      let world = Self.world
      let yaml = await world.baton("definitions", "com.example.report", "com.example.photos.*", "-o", "yaml").output
      try write(yaml, to: folder + "/job.yaml")
      let run = await world.baton("plan", folder)
      #expect(run.status == 0, "\(run.output)\(run.error)")
      #expect(run.output.hasSuffix("Nothing would change.\n"))
    }
  }

  @Test func `a stored definition that is not run counts as changed, with the reason`() async throws {
    try await withTemporaryFolder { folder in
      try write("identifier: com.example.spoilt\nkind: processing\n", to: folder + "/job.yaml")
      let run = await Self.world.baton("plan", folder)
      #expect(run.status == 2)
      #expect(run.output.contains("what is stored is not run: 'slots' must be from 1 to 1024, not 0"))
    }
  }

  private static func applying(_ folder: String) throws -> World {
    try write(changed, to: folder + "/job.yaml")
    let world = world
    world.coordinator.state.withLock { state in
      state.applied = [
        AppliedDefinition(id: DefinitionID(7), pattern: pattern, change: .updated),
        AppliedDefinition(
          id: DefinitionID(8), pattern: IdentifierPattern(trusted: "com.example.new"), change: .created),
      ]
      state.requests = [
        .example(1, number: 1, .succeeded), .example(2, number: 2, .ready),
        .example(3, number: 3, .scheduled) { $0.definition = DefinitionID(7) }, .example(4, number: 4, .scheduled),
      ]
    }
    return world
  }

  @Test func `apply says how many waiting requests keep the earlier definition`() async throws {
    try await withTemporaryFolder { folder in
      let run = try await Self.applying(folder).baton("apply", folder)
      #expect(run.status == 0)
      #expect(
        run.output == """
          com.example.report: updated; 3 waiting requests keep the earlier definition ('baton apply --refreeze' gives \
          them this one)
            com.example.report, request 2 will run the earlier definition
            com.example.report, request 4 will run the earlier definition
            and 1 more
          com.example.new: created

          """)
    }
  }

  @Test func `apply warns of a job that follows and that no definition covers`() async throws {
    try await withTemporaryFolder { folder in
      let world = try Self.applying(folder)
      try write(
        Self.changed + "\nonSuccess: com.example.nowhere\nonFailure: com.example.report\n", to: folder + "/job.yaml")
      let run = await world.baton("apply", folder)
      #expect(run.status == 0)
      #expect(
        run.error.contains(
          "warning: 'onSuccess' of com.example.new names com.example.nowhere, for which no definition is applied"))
      #expect(!run.error.contains("'onFailure'"))
    }
  }

  @Test func `apply warns of jobs that follow together and that are no flow`() async throws {
    try await withTemporaryFolder { folder in
      let world = try Self.applying(folder)
      var index = Definition(pattern: IdentifierPattern(trusted: "com.example.index"), kind: .processing)
      index.after = [Dependency(JobReference("com.example.fetch")!)]
      let report = DefinitionReport(definition: index, appliedAt: now)
      world.coordinator.state.withLock { $0.reports.append(report) }
      try write(
        Self.changed + "\nonSuccess: [com.example.report, com.example.index]\nonFailure: com.example.index\n",
        to: folder + "/job.yaml")
      let run = await world.baton("apply", folder)
      #expect(run.status == 0)
      #expect(
        run.error.contains(
          "warning: 'onSuccess' of com.example.new is no flow: com.example.index comes after com.example.fetch, which "
            + "is not in the flow"))
      #expect(!run.error.contains("'onFailure'"))
    }
  }

  @Test func `apply --refreeze gives the definition to those that wait under an earlier one`() async throws {
    try await withTemporaryFolder { folder in
      let world = try Self.applying(folder)
      let run = await world.baton("apply", folder, "--refreeze")
      #expect(run.status == 0)
      #expect(run.output.hasPrefix("com.example.report: updated; 2 waiting requests have it now\n"))
      #expect(world.coordinator.calls.filter { $0.hasPrefix("redefine") }.count == 2)
    }
  }

  @Test func `an unchanged file names the requests that keep an earlier definition, and --refreeze gives it to them`()
    async throws
  {
    try await withTemporaryFolder { folder in
      let world = try Self.applying(folder)
      world.coordinator.state.withLock { $0.applied?[0].change = .unchanged }
      let run = await world.baton("apply", folder)
      #expect(run.status == 0)
      #expect(
        run.output.hasPrefix(
          """
          com.example.report: unchanged; 2 waiting requests keep an earlier definition ('baton apply --refreeze' gives \
          them this one)
            com.example.report, request 2 will run the earlier definition
            com.example.report, request 4 will run the earlier definition
          com.example.new: created
          """), "\(run.output)")
      let again = await world.baton("apply", folder, "--refreeze")
      #expect(again.output.hasPrefix("com.example.report: unchanged; 2 waiting requests have it now\n"))
    }
  }

  @Test(arguments: [true, false])
  func `a plan of an unchanged file names the requests that keep an earlier definition`(isApplied: Bool) async throws {
    try await withTemporaryFolder { folder in
      let world = try Self.applying(folder)
      let yaml = await world.baton("definitions", "com.example.report", "-o", "yaml").output
      try write(yaml, to: folder + "/job.yaml")
      world.coordinator.state.withLock { $0.isApplied = isApplied }
      let run = await world.baton("plan", folder)
      #expect(run.status == 0, "\(run.error)")
      let keeping = """
          3 waiting requests keep an earlier definition ('baton apply --refreeze' gives them this one)
            com.example.report, request 2
            com.example.report, request 3
            com.example.report, request 4

        """
      #expect(
        run.output == "com.example.report: unchanged\n" + (isApplied ? "" : keeping) + "Nothing would change.\n")
    }
  }

  @Test func `a plan of a changed file says which version the requests keep`() async throws {
    try await withTemporaryFolder { folder in
      let world = try Self.applying(folder)
      world.coordinator.state.withLock { state in
        state.isApplied = false
        state.details = state.requests.map { record in
          var details = RequestDetails(record: record, launches: [], events: [])
          details.version = VersionNumber(number: 2, newest: 5)
          return details
        }
      }
      let run = await world.baton("plan", folder)
      #expect(run.status == 2, "\(run.error)")
      #expect(
        run.output.contains(
          """
            3 waiting requests keep an earlier definition, version 2 ('baton apply --refreeze' gives them this one)
              com.example.report, request 2
          """), "\(run.output)")
      #expect(!run.output.contains("the present definition"))
    }
  }

  @Test func `a revert names the requests that keep the earlier definition, and the way`() async throws {
    try await withTemporaryFolder { folder in
      let world = try Self.applying(folder)
      world.coordinator.state.withLock { state in
        state.versions = [
          DefinitionVersion(
            number: 1, id: DefinitionID(7), definition: state.reports[0].definition, appliedAt: now, appliedBy: "")
        ]
      }
      let run = await world.baton("revert", "com.example.report", "--to", "1")
      #expect(
        run.output.hasPrefix(
          """
          com.example.report: updated, from version 1
          """), "\(run.output)")
      #expect(
        run.output.contains(
          "  2 waiting requests keep the earlier definition ('baton definitions com.example.report -o yaml | baton apply "
            + "- --refreeze' gives them this one)\n    com.example.report, request 2\n"), "\(run.output)")
    }
  }

  @Test func `a request that cannot have the new definition is named, with the reason`() async throws {
    try await withTemporaryFolder { folder in
      let world = try Self.applying(folder)
      world.coordinator.state.withLock {
        $0.failing["redefine com.example.report 4"] = OperatorError.conflict("'batchSize' was 5 and is 1")
      }
      let run = await world.baton("apply", folder, "--refreeze")
      #expect(run.status == 4)
      #expect(
        run.output.hasPrefix("com.example.report: updated; 1 waiting request has it now; 1 waiting request keeps"))
      #expect(run.error.contains("'batchSize' was 5 and is 1"))
    }
  }

  @Test func `--dry-run and --refreeze contradict each other`() async {
    #expect(await World().baton("apply", "job.yaml", "--dry-run", "--refreeze").status == 64)
  }
}
