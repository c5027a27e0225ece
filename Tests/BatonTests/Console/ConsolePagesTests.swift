import BatonModel
import BatonStore
import BatonTelemetry
import HTTPTypes
import Synchronization
import Testing

@testable import BatonAPI
@testable import BatonConsole
@testable import BatonCoordinator

/// What the pages of the console show.
@Suite("Console: pages") struct ConsolePagesTests {
  private static func filled() -> ConsoleWorld {
    ConsoleWorld(RequestRecord.all) { state in
      state.hosts = [.alpha, .beta]
      state.details = [.example]
      state.trace = TraceSample.slow
      state.explanation.record = .ready
      state.reports = [
        DefinitionReport(
          definition: Definition(pattern: IdentifierPattern(trusted: "com.example.report"), kind: .processing),
          appliedAt: now)
      ]
    }
  }

  @Test func `every page is shown, and none of its markup as text`() async {
    let world = Self.filled()
    await world.signIn()
    let pages = world.console.routes.filter { $0.method == .get && !$0.waits && $0.path.hasPrefix("/") }
    #expect(pages.count > 20)
    let details = RequestDetails.example.record
    for page in pages where page.access != .anyone {
      let path = page.path.replacing("{identifier}", with: details.identifier.rawValue)
        .replacing("{number}", with: "\(details.number)").replacing("{host}", with: "alpha")
        .replacing("{pattern}", with: "com.example.report")
      let told = await world.ask("GET \(path)")
      #expect([200, 303, 400, 404, 409].contains(told.status), "\(path): \(told.status)")
      #expect(!told.text.contains("&lt;"), "\(path)")
      if told.status == 200, !path.hasSuffix("/otlp") { #expect(told.text.contains("<h1"), "\(path)") }
    }
  }

  @Test func `a fleet without anything says what to do next`() async {
    let world = ConsoleWorld()
    await world.signIn()
    for (path, command) in [
      ("/", "baton up"), ("/requests", "baton submit"), ("/hosts", "baton"), ("/definitions", "baton apply"),
    ] {
      let told = await world.ask("GET \(path)")
      #expect(told.status == 200 && told.text.contains("class=\"empty\"") && told.text.contains(command), "\(path)")
    }
  }

  @Test func `a change is made, and told once`() async {
    let world = Self.filled()
    await world.signIn()
    let told = await world.ask("POST /hosts/alpha/drain", form: "")
    #expect(told.status == 303 && told.location == "/hosts/alpha")
    #expect(world.coordinator.calls.contains { $0.contains("drain") }, "\(world.coordinator.calls)")
    let page = await world.ask("GET /hosts/alpha", cookies: told.cookies + (await world.signIn().cookies))
    #expect(page.text.contains("class=\"notice\""))
    #expect(!(await world.ask("GET /hosts/alpha").text.contains("class=\"notice\"")))
  }

  @Test func `many things are changed only after their number was typed`() async {
    let requests = (1...21).map { number in
      RequestRecord.example(Int64(number), "com.example.many", number: number, .ready)
    }
    let world = ConsoleWorld(requests)
    await world.signIn()
    let few = (1...20).map { "id=com.example.many%23\($0)" }.joined(separator: "&")
    let many = few + "&id=com.example.many%2321"
    let question = await world.ask("GET /requests/cancel?\(many)")
    #expect(question.status == 200 && question.text.contains("Type <strong>21</strong>"))
    #expect(await world.ask("POST /requests/cancel", form: many).status == 400)
    #expect(await world.ask("POST /requests/cancel", form: many + "&count=20").status == 400)
    #expect(!world.coordinator.calls.contains { $0.hasPrefix("cancel") })
    #expect(await world.ask("POST /requests/cancel", form: many + "&count=21").status == 303)
    #expect(world.coordinator.calls.count { $0.hasPrefix("cancel") } == 21)
    #expect(await world.ask("POST /requests/cancel", form: few).status == 303)
    #expect(await world.ask("POST /requests/cancel", form: "").status == 400, "nothing is selected")
    #expect(await world.ask("POST /requests/cancel", form: "id=x%23y").status == 400)
    let tooMany = (1...101).map { "id=com.example.many%23\($0)" }.joined(separator: "&")
    #expect(await world.ask("POST /requests/cancel", form: tooMany + "&count=101").status == 400)
  }

  @Test func `a request that keeps an earlier definition can be given the one that is applied`() async {
    let world = Self.filled()
    world.coordinator.state.withLock { state in
      state.details = [RequestDetails(record: .ready, launches: [], events: [])]
      var definition = Definition(pattern: IdentifierPattern(RequestRecord.ready.identifier), kind: .processing)
      definition.title = "Another title"
      state.reports = [DefinitionReport(definition: definition, appliedAt: now)]
    }
    await world.signIn()
    let path = "/requests/\(RequestRecord.ready.identifier)/\(RequestRecord.ready.number)"
    for page in [path, path + "/why"] {
      #expect(await world.ask("GET \(page)").text.contains("href=\"\(path)/redefine\""), "\(page)")
    }
    #expect(await world.ask("GET \(path)/redefine").status == 200)
    #expect(await world.ask("POST \(path)/redefine", form: "").status == 303)
    #expect(world.coordinator.calls.contains { $0.hasPrefix("redefine") }, "\(world.coordinator.calls)")
    world.coordinator.state.withLock { $0.isApplied = true }
    #expect(!(await world.ask("GET \(path)").text.contains("/redefine")))
    #expect(await world.ask("GET \(path)/redefine").status == 409, "it has the definition already")
  }

  @Test func `a list by kind and submitter keeps its filters, and says if it looked at a part only`() async {
    let world = Self.filled()
    await world.signIn()
    let principal = RequestRecord.ready.principal
    let told = await world.ask("GET /requests?kind=\(RequestRecord.ready.kind.rawValue)&by=\(principal)")
    #expect(told.text.contains("value=\"\(RequestRecord.ready.kind.rawValue)\" selected"), "\(told.text)")
    #expect(told.text.contains("name=\"by\" value=\"\(principal)\""))
    #expect(told.text.contains("href=\"/requests?by=\(principal)\""))
    let none = await world.ask("GET /requests?by=chloe")
    #expect(none.text.contains("No request matches") && !none.text.contains("has looked at"))
    world.coordinator.state.withLock { $0.goesOn = RequestID(7) }
    let part = await world.ask("GET /requests?by=chloe&kind=refresh")
    #expect(part.text.contains("Older ones may match too"), "\(part.text)")
    #expect(part.text.contains("href=\"/requests?kind=refresh&amp;by=chloe&amp;after=7\""), "\(part.text)")
    #expect(await world.ask("GET /requests?kind=refesh").status == 400)
  }

  @Test func `a definition that no host can run now says what keeps it from the hosts`() async {
    let world = Self.filled()
    world.coordinator.state.withLock { state in
      let obstacles = [AbleHosts.Obstacle(code: "noHostHasGPU", hosts: nil), .init(code: "slotsInUse", hosts: 2)]
      state.able = AbleHosts.Count(now: 0, ever: 0, obstacles: obstacles)
    }
    await world.signIn()
    let yaml = "identifier%3A+com.example.new%0Akind%3A+processing%0Awork%3A+%7Bcommand%3A+%5Btrue%5D%7D"
    let told = await world.ask("POST /definitions/check", form: "yaml=\(yaml)")
    #expect(told.text.contains("noHostHasGPU") && told.text.contains("slotsInUse</a> on 2 hosts"), "\(told.text)")
  }

  @Test func `a mistake is shown below the two lines before it, with their numbers`() async {
    let world = Self.filled()
    await world.signIn()
    let yaml = "identifier%3A+com.example.new%0Akind%3A+continued%0Awrok%3A+1"
    let told = await world.ask("POST /definitions/check", form: "yaml=\(yaml)")
    let expected = "   1 │ identifier: com.example.new\n   2 │ kind: continued\n   3 │ wrok: 1\n     │ ^"
    #expect(told.text.contains(expected), "\(told.text)")
  }

  @Test func `a coordinator that does not answer has a page that says so`() async {
    let world = ConsoleWorld { state in
      state.failing["standing"] = CoordinatorUnreachable("no coordinator answers")
    }
    await world.signIn()
    let told = await world.ask("GET /")
    #expect(told.status == 503 && told.text.contains("no coordinator answers"))
  }
}
