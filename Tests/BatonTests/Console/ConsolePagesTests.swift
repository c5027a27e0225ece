import BatonBase
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
        .replacing("{pattern}", with: "com.example.report").replacing("{flow}", with: "1")
        .replacing("{receiver}", with: "ops")
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

  // MARK: Flows, schedules, notifications

  private static let hostile = "</title><script>alert(1)</script>\u{1B}[31m\u{202E}\"'><b onfocus=x"

  private static func awaited(
    _ id: Int64, _ name: String, _ end: Dependency.End, _ state: AwaitedRequest.State
  )
    -> AwaitedRequest
  {
    AwaitedRequest(
      request: RequestID(id), identifier: JobIdentifier(trusted: name), number: 1, end: end, state: state)
  }

  private static let flow: [RequestRecord] = [
    .example(7, "com.example.fetch", .succeeded) { $0.flow = RequestID(7) },
    .example(8, "com.example.work", .failed) {
      ($0.flow, $0.reason, $0.title) = (RequestID(7), hostile, hostile)
      $0.waitsFor = [awaited(7, "com.example.fetch", .success, .met)]
    },
    .example(9, "com.example.repair", .scheduled) {
      ($0.flow, $0.waitsBecause) = (RequestID(7), .waitsForOthers(["com.example.work (request 1)"]))
      $0.waitsFor = [
        awaited(7, "com.example.fetch", .any, .met), awaited(8, "com.example.work", .failure, .open),
      ]
    },
    .example(10, "com.example.elsewhere", .ready),
  ]

  @Test func `a flow is a picture and a table, and its members link to their pages`() async {
    let world = ConsoleWorld(Self.flow)
    await world.signIn()
    let told = await world.ask("GET /flows/7")
    #expect(told.status == 200, "\(told.text)")
    #expect(told.text.contains("<svg class=\"flow\"") && told.text.contains("1 succeeded, 1 failed"), "\(told.text)")
    for name in ["fetch", "work", "repair"] {
      #expect(told.text.contains("<a href=\"/requests/com.example.\(name)/1\" aria-label="), "\(name)")
    }
    #expect(!told.text.contains("elsewhere"), "a request of no flow")
    #expect(told.text.contains("<path class=\"open\"") && told.text.contains(">failure</text>"))
    #expect(told.text.contains("waits for 1 of 2"))
    #expect(told.text.contains("has failed: still to end"), "the table has the same in words")
    #expect(!told.text.contains("<script>alert") && !told.text.contains("<b onfocus"))
    #expect(!told.text.contains("\u{1B}") && !told.text.contains("\u{202E}"))
    #expect(await world.ask("GET /flows/6").status == 404)
    #expect(await world.ask("GET /flows/x").status == 400)
  }

  @Test func `the page of a request has its flow, and what it waits for`() async {
    let world = ConsoleWorld(Self.flow) { state in
      state.details = [RequestDetails(record: Self.flow[2], launches: [], events: [], flow: Array(Self.flow.prefix(3)))]
      state.trace = TraceSample.slow
    }
    await world.signIn()
    let told = await world.ask("GET /requests/com.example.repair/1")
    #expect(told.text.contains("It starts after these:") && told.text.contains("has failed: still to end"))
    #expect(told.text.contains("aria-current=\"page\"><rect class=\"member scheduled here\""), "\(told.text)")
    #expect(told.text.contains("href=\"/flows/7\""))
  }

  @Test func `the places of members come after those that they wait for, also 256 of them`() {
    var members: [RequestRecord] = []
    for index in 0..<256 {
      members.append(
        .example(Int64(index + 1), "com.example.m\(index)", .scheduled) { record in
          let before = [index - 1, index / 2].filter { $0 >= 0 && $0 < index && index % 3 > 0 }
          record.waitsFor = Set(before).sorted().map {
            Self.awaited(Int64($0 + 1), "com.example.m\($0)", .success, .open)
          }
        })
    }
    let picture = FlowPicture(members)
    for member in members {
      for awaited in member.waitsFor {
        #expect(picture.places[awaited.request]!.column < picture.places[member.id]!.column)
      }
    }
    #expect(Set(picture.places.values).count == 256, "two members stand at one place")
    #expect(picture.html.text.utf8.count < 300_000)
    // Another version may send circles.
    let circle = [
      RequestRecord.example(1, "a", .ready) { $0.waitsFor = [Self.awaited(2, "b", .success, .open)] },
      .example(2, "b", .ready) { $0.waitsFor = [Self.awaited(1, "a", .success, .open)] },
    ]
    #expect(FlowPicture(circle).places.count == 2)
  }

  @Test func `a flow is cancelled after a question, above 20 requests with their number`() async {
    let world = ConsoleWorld(
      (1...21).map { number in .example(Int64(number), "com.example.m\(number)", .ready) { $0.flow = RequestID(1) } }
    ) { $0.cancellations = [.ended(RequestID(1), JobIdentifier(trusted: "com.example.m1"), number: 1)] }
    await world.signIn()
    #expect(await world.ask("GET /flows/1/cancel").text.contains("Type <strong>21</strong>"))
    #expect(await world.ask("POST /flows/1/cancel", form: "").status == 400)
    #expect(!world.coordinator.calls.contains { $0.hasPrefix("cancel") })
    #expect(await world.ask("POST /flows/1/cancel", form: "count=21").location == "/flows/1")
    #expect(world.coordinator.calls.count { $0.hasPrefix("cancel flow") } == 1, "\(world.coordinator.calls)")
  }

  private static func scheduled(_ caller: Caller = Caller(name: "ana"), isReadOnly: Bool = false) -> ConsoleWorld {
    ConsoleWorld(
      [
        .example(1, "com.example.nightly", .failed) { ($0.reason, $0.launches, $0.startedAt) = (hostile, 1, now) },
        .example(2, "com.example.nightly", number: 2, .scheduled) { $0.eligibleAt = now + .seconds(3600) },
      ], isReadOnly: isReadOnly, caller: caller
    ) { state in
      var definition = Definition(pattern: IdentifierPattern(trusted: "com.example.nightly"), kind: .processing)
      definition.repeatEvery = .seconds(86_400)
      var report = DefinitionReport(definition: definition, appliedAt: now)
      report.standing.pause = SchedulePause(by: hostile, since: now, reason: hostile)
      report.standing.backfill = Backfill(
        by: hostile, startedAt: now, from: now, until: now + .seconds(86_400), made: 3, total: 12)
      var other = Definition(pattern: IdentifierPattern(trusted: "com.example.once"), kind: .processing)
      other.title = "Does not come by itself"
      state.reports = [report, DefinitionReport(definition: other, appliedAt: now)]
      state.schedules = [
        ChangedSchedule(
          identifier: JobIdentifier(trusted: "com.example.nightly"),
          pause: SchedulePause(by: "ana", since: now, reason: "disk"))
      ]
      state.backfill = report.standing.backfill
    }
  }

  @Test func `schedules show the next and the last time, pauses and backfills, and texts do no harm`() async {
    let world = Self.scheduled()
    await world.signIn()
    let told = await world.ask("GET /schedules")
    #expect(told.status == 200 && told.text.contains("every 1d"), "\(told.text)")
    #expect(told.text.contains("in 1h") && told.text.contains("class=\"state failed\""), "\(told.text)")
    #expect(told.text.contains("class=\"state paused\"") && told.text.contains("backfill 3 of 12"))
    #expect(told.text.contains("/definitions/com.example.nightly/resume\" data-dialog"))
    #expect(!told.text.contains("com.example.once"), "a job that does not come by itself")
    #expect(!told.text.contains("<script>alert") && !told.text.contains("<b onfocus"))
    #expect(!told.text.contains("\u{1B}") && !told.text.contains("\u{202E}"))
    let none = await ConsoleWorld().signedIn().ask("GET /schedules")
    #expect(none.text.contains("class=\"empty\"") && none.text.contains("schedule"))
  }

  @Test func `schedules are paused with a reason, resumed, and their backfills stopped`() async {
    let world = Self.scheduled()
    await world.signIn()
    let path = "/definitions/com.example.nightly"
    #expect(await world.ask("GET \(path)/pause").text.contains("name=\"reason\""))
    #expect(await world.ask("POST \(path)/pause", form: "reason=disk+is+full").location == "/schedules")
    #expect(world.coordinator.calls.contains { $0.contains("disk is full") && $0.hasSuffix("by ana") })
    #expect(await world.ask("POST \(path)/resume", form: "").status == 303)
    #expect(world.coordinator.calls.contains { $0.hasPrefix("schedules com.example.nightly resume") })
    #expect(await world.ask("POST \(path)/stop-backfill", form: "").status == 303)
    #expect(world.coordinator.calls.contains("stop backfill com.example.nightly"))
    #expect(await world.ask("POST \(path)/pause", form: "reason=x", site: "cross-site").status == 403)
  }

  @Test func `who may not change schedules has no buttons for it, and is refused`() async {
    let reader = Caller(
      name: "rea",
      credential: Credential(
        id: [1], name: "rea", digest: [2], scopes: [.read], patterns: [], end: Timestamp(nanoseconds: .max),
        createdAt: Timestamp(nanoseconds: 0), createdBy: "ana"))
    for world in [Self.scheduled(reader), Self.scheduled(isReadOnly: true)] {
      await world.signIn()
      for page in ["/schedules", "/notifications", "/flows/7"] {
        #expect(!(await world.ask("GET \(page)").text.contains("data-dialog")), "\(page)")
      }
      for change in ["/definitions/com.example.nightly/pause", "/receivers/ops/test", "/flows/7/cancel"] {
        #expect(await world.ask("POST \(change)", form: "").status == 403, "\(change)")
      }
      #expect(!world.coordinator.calls.contains { $0.hasPrefix("schedules") || $0.hasPrefix("test") })
    }
  }

  @Test func `notifications show what waits and what has failed, with the reason, and texts do no harm`() async {
    let world = ConsoleWorld { state in
      var facts = JobNotification(id: "9f2c-3-1", event: .failure, at: "2026-11-28T02:00:07.250Z")
      (facts.identifier, facts.request, facts.reason) = (JobIdentifier("com.example.report"), 3, Self.hostile)
      var report = NotificationReport(receiver: ReceiverName("ops")!, facts: facts, attempts: 2)
      (report.error, report.nextAt) = ("HTTP 503: \(Self.hostile)", now.nanoseconds)
      state.notifications.waiting = [report]
      (report.nextAt, report.failedAt, report.error) = (nil, now.nanoseconds, "it was not taken within 3d")
      state.notifications.failed = [report]
      (state.notifications.waitingCount, state.notifications.failedCount) = (1, 2001)
      state.notifications.receivers = [ReceiverReport(name: ReceiverName("ops")!, kind: .webhook, place: Self.hostile)]
      state.receiverAnswer = ReceiverAnswer(isAccepted: false, text: Self.hostile)
    }
    await world.signIn()
    let told = await world.ask("GET /notifications")
    #expect(told.status == 200 && told.text.contains("it was not taken within 3d"), "\(told.text)")
    #expect(told.text.contains("HTTP 503") && told.text.contains("/requests/com.example.report/3"))
    #expect(told.text.contains("2\u{202F}000 more"), "those that are not shown are counted")
    #expect(!told.text.contains("<script>alert") && !told.text.contains("<b onfocus"))
    let tested = await world.ask("POST /receivers/ops/test", form: "")
    #expect(tested.location == "/notifications" && world.coordinator.calls.contains("test ops"))
    let page = await world.ask("GET /notifications", cookies: tested.cookies + (await world.signIn().cookies))
    #expect(page.text.contains("ops has not taken the test") && !page.text.contains("<script>alert"))
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
