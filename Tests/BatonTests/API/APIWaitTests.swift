import BatonModel
import BatonStore
import Testing

@testable import BatonAPI
@testable import BatonCoordinator

/// Calls of the HTTP API that wait.
@Suite("HTTP API: waiting") struct APIWaitTests {
  private static let path = "GET /v1/requests/com.example.photos.export.42/3/wait"

  private static func changed(_ state: RequestState, _ batches: Int) -> RequestRecord {
    var record = RequestRecord.running
    record.state = state
    record.progress = Progress(batches: batches, completedUnits: 200, totalUnits: 247)
    return record
  }

  private static func world(
    hangs: Bool = false, mostWaits: Int = 4, elapsing: Set<Duration> = [], _ changes: [RequestRecord]
  ) -> APIWorld {
    APIWorld([RequestRecord.running], mostWaits: mostWaits, elapsing: elapsing) { state in
      state.changes = [RequestRecord.running.id: changes]
      state.hangs = hangs
    }
  }

  @Test func `a call waits until the request has ended`() async {
    let told = await Self.world([Self.changed(.running, 13), Self.changed(.succeeded, 20)]).ask(Self.path)
    #expect(told.status == 200 && told.text.contains(#""state":"succeeded""#), "\(told)")
  }

  @Test func `it answers with what is there when the time is over`() async {
    let world = Self.world(hangs: true, elapsing: [.milliseconds(1500)], [])
    let told = await world.ask(Self.path + "?timeout=1s500ms")
    #expect(told.status == 200 && told.text.contains(#""state":"running""#), "\(told)")
    let once = await Self.world(hangs: true, []).ask(Self.path + "?timeout=0s")
    #expect(once.status == 200, "a time of zero asks once")
  }

  @Test func `it answers at a change, if that is asked for`() async {
    let told = await Self.world(hangs: true, [Self.changed(.running, 13)]).ask(Self.path + "?until=changed")
    #expect(told.status == 200 && told.text.contains(#""batches":13"#), "\(told)")
  }

  @Test func `it answers at once, if the request is not what the caller has`() async throws {
    let before = await Self.world([]).ask(Self.path + "?timeout=0s")
    let tag = try #require(before.header("ETag"))
    let news = APIWorld([Self.changed(.running, 13)]) { $0.hangs = true }
    let told = await news.ask(Self.path + "?until=changed", headers: ["If-None-Match": tag])
    #expect(told.status == 200 && told.text.contains(#""batches":13"#), "\(told)")
    let same = Self.world(hangs: true, elapsing: [.seconds(60)], [])
    #expect(await same.ask(Self.path + "?until=changed", headers: ["If-None-Match": tag]).status == 304)
  }

  @Test func `no more calls wait than there is room for, and each place is free again`() async {
    let world = Self.world(hangs: true, mostWaits: 1, [])
    let waiting = Task { await world.ask(Self.path) }
    await world.coordinator.hanging()
    let told = await world.ask(Self.path)
    #expect(told.status == 503 && told.header("Retry-After") != nil, "\(told)")
    #expect(await world.ask("GET /v1/requests").status == 200, "what does not wait has room")
    waiting.cancel()
    _ = await waiting.value
    #expect(await world.ask(Self.path + "?timeout=0s").status == 200)
  }
}
