import BatonModel
import BatonStore
import Testing

@testable import BatonCommands
@testable import BatonCoordinator

/// `baton start`, and the words that complete a command line.
@Suite struct StartingTests {
  @Test func `a scheduled request is made due now, with its payload and its priority`() async throws {
    let scheduled = RequestRecord.example(5, "com.example.report", number: 5, .scheduled) { record in
      (record.payload, record.priority) = (Array("7".utf8), .userInitiated)
    }
    let world = World([scheduled])
    let run = await world.baton("start", "com.example.report")
    #expect(run.status == 0, "\(run.error)")
    let order = try #require(world.coordinator.orders.first)
    #expect(order.earliestBeginDate == .afterSubmission(.zero))
    #expect(order.payload == Array("7".utf8))
    #expect(order.priority == .userInitiated)
    #expect(order.poke == nil)
  }

  @Test func `without a request that waits, one is submitted`() async throws {
    let ended = RequestRecord.example(4, "com.example.report", number: 4, .succeeded) { $0.launches = 1 }
    for world in [World(), World([ended])] {
      #expect(await world.baton("start", "com.example.report", "--payload", "8").status == 0)
      let order = try #require(world.coordinator.orders.first)
      #expect(order.payload == Array("8".utf8))
      #expect(order.priority == nil)
    }
  }

  private static let backingOff = RequestRecord.example(5, "com.example.report", number: 5, .scheduled) { record in
    (record.launches, record.waitsBecause) = (1, .backingOff(until: now + .seconds(3600)))
  }

  @Test func `a retry that is waited for becomes due, and nothing is submitted`() async throws {
    let world = World([Self.backingOff])
    let run = await world.baton("start", "com.example.report")
    #expect(run.status == 0, "\(run.error)")
    #expect(run.output == "com.example.report, request 5: ready; the retry that it waited for is due now\n")
    #expect(world.coordinator.calls.contains("retry com.example.report"))
    #expect(world.coordinator.orders.isEmpty)
  }

  @Test func `a request between two launches that is due already is only named`() async throws {
    var due = Self.backingOff
    (due.state, due.waitsBecause) = (.ready, nil)
    let world = World([due])
    let run = await world.baton("start", "com.example.report")
    #expect(
      run.output
        == "com.example.report, request 5: ready; it was due already: 'baton explain com.example.report' says what "
        + "keeps it from starting\n")
    #expect(world.coordinator.orders.isEmpty)
  }

  @Test func `another payload asks for another request, after the one that waits for its retry`() async throws {
    let world = World([Self.backingOff])
    #expect(await world.baton("start", "com.example.report", "--payload", "8").status == 0)
    #expect(world.coordinator.orders.map(\.payload) == [Array("8".utf8)])
    #expect(!world.coordinator.calls.contains("retry com.example.report"))
  }

  @Test func `a rehearsed retry of a request that waits for its retry says what becomes of it`() async throws {
    func foreseen(_ options: String...) async -> String {
      let run = await World([Self.backingOff]).baton(["retry", "com.example.report", "--dry-run"] + options)
      #expect(run.status == 0, "\(run.error)")
      return run.output
    }
    let name = "com.example.report, request 5: "
    #expect(await foreseen() == name + "its retry would be due now\n")
    #expect(
      await foreseen("--with-new-definition") == name
        + "would be refused: it waits for its retry; 'baton apply FILE --refreeze' gives it the new definition\n")
    #expect(await foreseen("--skip-batch").hasPrefix(name + "its retry would be due now, after batch "))
  }

  private static let world = World([
    .example(1, "com.example.photos.export.42", .running), .example(2, "com.example.report", .failed),
  ]) { state in
    state.hosts = [HostReport.alpha]
    state.reports = [
      DefinitionReport(
        definition: Definition(pattern: IdentifierPattern("com.example.photos.*")!, kind: .continued), appliedAt: now)
    ]
  }

  @Test(arguments: [
    ("identifiers", "com.example.photos.export.42\ncom.example.report\n"),
    ("definitions", "com.example.photos.*\n"),
    (
      "patterns",
      "com.example.*\ncom.example.photos.*\ncom.example.photos.export.*\ncom.example.photos.export.42\n"
        + "com.example.report\n"
    ),
  ])
  func `words come from the coordinator`(subject: String, words: String) async {
    let run = await Self.world.baton("complete", subject)
    #expect(run.output == words)
  }

  @Test func `the name of a host that a shell would expand is no word`() async {
    let names = ["alpha", "$(reboot)", "a b", "-rf", "`x`", "b;c"]
    let world = World { state in
      state.hosts = names.map { name in
        var host = HostReport.alpha
        host.name = HostName(name)
        return host
      }
    }
    let run = await world.baton("complete", "hosts")
    #expect(run.output == "alpha\n")
  }

  @Test func `without a coordinator there are no words, no error and no waiting`() async {
    let lost = World(FakeBackend(FakeCoordinator(), error: CoordinatorUnreachable("it is down")))
    let run = await lost.baton("complete", "hosts")
    #expect(run.status == 0)
    #expect(run.output.isEmpty)
    #expect(run.error.isEmpty)
  }

  @Test(arguments: ["bash", "zsh", "fish"]) func `a script asks for words`(shell: String) async {
    let run = await World().baton("completion", shell)
    #expect(run.status == 0)
    for subject in ["identifiers", "patterns", "definitions", "hosts"] {
      #expect(run.output.contains("baton complete \(subject)"))
    }
  }
}
