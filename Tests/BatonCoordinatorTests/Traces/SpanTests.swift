import BatonModel
import BatonTelemetry
import ContractRows
import Testing

@testable import BatonCoordinator
@testable import BatonStore

@Suite("The coordinator's spans, made of rows")
struct SpanTests {
  static let begin = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

  static func source(_ parts: SpanParts, launch: Int = 0, _ change: (inout SpanSource) -> Void = { _ in }) -> SpanSource
  {
    var source = SpanSource(
      key: SpanKey(request: RequestID(9), launch: launch, parts: parts), identifier: JobIdentifier("com.a.b")!,
      number: 3, definition: Desk.job("com.a.*"), trace: Desk.trace, parentSpanID: nil, submittedAt: begin)
    change(&source)
    return source
  }

  /// A launch of ten seconds on host `a`.
  static func launch(
    _ outcome: LaunchOutcome.Kind?, reason: String? = nil, errorType: String? = nil, expiring: ExpiryReason? = nil,
    isGraceful: Bool = true, number: Int = 1
  ) -> SpanSource {
    source([.wait, .launch], launch: number) {
      let record = LaunchRecord(
        launch: LaunchKey(request: $0.key.request, number: number), host: HostName("a"), startedAt: begin + .seconds(5),
        endedAt: outcome == nil ? nil : begin + .seconds(15), outcome: outcome, reason: reason, isGraceful: isGraceful,
        firstBatch: 4, batches: 2, spanID: SpanID(2), expiringReason: expiring,
        expiringSince: expiring.map { _ in begin + .seconds(12) })
      $0.launch = SpanSource.Launch(
        record: record, wait: SpanSource.Wait(readyAt: begin), errorType: errorType,
        previousSpanID: number > 1 ? Desk.trace.spanID : nil)
    }
  }

  private func spans(_ source: SpanSource) -> [SpanRecord] { source.spans(asOf: Self.begin + .seconds(60)) }

  @Test("a submission is the trace's root, or a child of its submitter's span")
  func submission() throws {
    let span = try #require(spans(Self.source(.submit)).first)
    #expect(span.name == "submit com.a.*" && span.kind == .producer)
    #expect(span.trace == Desk.trace.traceID && span.id == Desk.trace.spanID && span.parent == nil)
    #expect(span.attribute(Names.Attribute.identifier) == "com.a.b")
    let child = spans(Self.source(.submit) { $0.parentSpanID = SpanID(5) })
    #expect(child.first?.parent == SpanID(5))
  }

  @Test("wait and launch are the submission's children, the expiry its launch's", .contract(44.1))
  func parents() {
    let found = spans(Self.launch(.expired, reason: "powerLost", expiring: .powerLost))
    #expect(found.map(\.name) == ["wait com.a.*", "launch com.a.*", "expire com.a.*"])
    #expect(found.map(\.kind) == [.internal, .consumer, .internal])
    #expect(found.map(\.parent) == [Desk.trace.spanID, Desk.trace.spanID, found[1].id])
    #expect(Set(found.map(\.id)).count == 3)
    #expect(found.map { $0.end - $0.start } == [.seconds(5), .seconds(10), .seconds(3)])
  }

  @Test(
    "expiry never shows as an error", arguments: ExpiryReason.plain + [.cancelled(by: "ada"), .simulated(as: .thermal)])
  func expiry(reason: ExpiryReason) {
    for outcome in [LaunchOutcome.Kind.expired, .finished] {
      let found = spans(Self.launch(outcome, reason: reason.code, expiring: reason))
      #expect(found.allSatisfy { $0.status == .unset && $0.attribute(Names.Attribute.errorType) == nil })
      #expect(found[2].attribute(Names.Attribute.expiryReason) == .string(reason.code))
      #expect(found[2].attribute(Names.Attribute.expiryDetail) == reason.detail.map { .string($0) })
      #expect(found[2].attribute(Names.Attribute.expiryGraceful) == true)
    }
  }

  @Test("failure always shows as an error, with its type")
  func failure() {
    let failed = spans(Self.launch(.failed, reason: "it broke", errorType: "exit 3"))[1]
    #expect(failed.status == .error("it broke") && failed.attribute(Names.Attribute.errorType) == "exit 3")
    let lost = spans(Self.launch(.lost, errorType: "lost"))[1]
    #expect(lost.status == .error("its worker is gone") && lost.attribute(Names.Attribute.errorType) == "lost")
    // While it expired: it is a failure all the same.
    let both = spans(Self.launch(.failed, reason: "it broke", expiring: .powerLost))
    #expect(both[1].attribute(Names.Attribute.errorType) == "_OTHER" && both[2].status == .unset)
  }

  @Test("of a launch that was lost while it expired nobody says that it was graceful")
  func lostWhileExpiring() {
    let found = spans(Self.launch(.lost, expiring: .powerLost, isGraceful: false))
    #expect(found[2].attribute(Names.Attribute.expiryGraceful) == nil)
    let killed = spans(Self.launch(.expired, reason: "powerLost", expiring: .powerLost, isGraceful: false))
    #expect(killed[2].attribute(Names.Attribute.expiryGraceful) == false)
  }

  @Test("a launch links to the one before it")
  func links() {
    #expect(spans(Self.launch(.finished))[1].links.isEmpty)
    let second = spans(Self.launch(.finished, number: 2))[1]
    #expect(second.links == [SpanLink(trace: Desk.trace.traceID, span: Desk.trace.spanID)])
    #expect(second.attribute(Names.Attribute.launch) == 2)
  }

  /// Transfer 2 of the request.
  static func transfer(_ end: TransferEnd, _ change: (inout TransferStatus) -> Void = { _ in }) -> SpanSource {
    source(.transfer, launch: 2) {
      var status = TransferStatus(
        key: TransferKey(request: $0.key.request, index: 2), state: .ended(end), bytes: 70, attempts: 3,
        resumedFrom: 40, httpStatus: 206, orderedAt: begin + .seconds(1), endedAt: begin + .seconds(9))
      change(&status)
      $0.transfer = SpanSource.EndedTransfer(
        Transfer(url: "https://files.example.com/a?signature=secret", to: "a", group: "tables"), status,
        on: HostName("a"))
    }
  }

  @Test("a transfer tells how it went, and nothing of its address but the server")
  func transfers() throws {
    let span = try #require(spans(Self.transfer(.done(TransferredFile(path: "/f/a", bytes: 70, sha256: "")))).first)
    #expect(span.name == "transfer com.a.*" && span.kind == .client && span.parent == Desk.trace.spanID)
    #expect(span.start == Self.begin + .seconds(1) && span.end == Self.begin + .seconds(9))
    #expect(span.status == .unset && span.attribute(Names.Attribute.transferOutcome) == "done")
    #expect(span.attribute(Names.Attribute.transfer) == 2 && span.attribute(Names.Attribute.transferGroup) == "tables")
    #expect(
      span.attribute(Names.Attribute.transferBytes) == 70 && span.attribute(Names.Attribute.transferAttempts) == 3)
    #expect(span.attribute(Names.Attribute.transferResumedFrom) == 40)
    #expect(span.attribute(Names.Attribute.httpStatus) == 206 && span.attribute(Names.Attribute.httpMethod) == "GET")
    #expect(span.attribute(Names.Attribute.server) == "files.example.com")
    #expect(!"\(span)".contains("secret"))
    let failed = try #require(spans(Self.transfer(.failed(TransferFailure(.wrongHash, "another file")))).first)
    #expect(failed.status == .error("another file") && failed.attribute(Names.Attribute.errorType) == "wrongHash")
    let cancelled = try #require(spans(Self.transfer(.cancelled)).first)
    #expect(cancelled.status == .unset && cancelled.id == span.id)
  }

  @Test("a transfer on a host with a clock that is late does not begin before its request")
  func lateClock() throws {
    let source = Self.transfer(.cancelled) {
      $0.orderedAt = Self.begin + .seconds(-60)
      $0.endedAt = nil
    }
    let span = try #require(spans(source).first)
    #expect(span.start == Self.begin && span.end == Self.begin)
  }

  @Test("a launch links to the transfers that started it, behind the launch before it")
  func linksToTransfers() throws {
    var source = Self.launch(.finished, number: 2)
    source.startedBy = [SpanSource.TransferSpanMark(number: 2, orderedAt: Self.begin + .seconds(1))]
    let transfer = try #require(spans(Self.transfer(.cancelled)).first)
    #expect(spans(source)[1].links.map(\.span) == [Desk.trace.spanID, transfer.id])
    let others = [1, 2, 3].flatMap { number in
      [0, 1].map { second in
        var source = Self.launch(.finished)
        source.startedBy = [SpanSource.TransferSpanMark(number: number, orderedAt: Self.begin + .seconds(second))]
        return spans(source)[1].links[0].span
      }
    }
    #expect(Set(others).count == 6, "the transfers of a request, and those of its retry")
  }

  @Test(
    "a completion is an error exactly if the request failed", arguments: [RequestState.succeeded, .failed, .cancelled])
  func completion(state: RequestState) {
    var source = Self.launch(.failed, reason: "it broke", errorType: "exit 3")
    source.key.parts = .complete
    source.completion = SpanSource.Completion(state: state, reason: "it broke", at: Self.begin + .seconds(15))
    let span = spans(source)[0]
    #expect(span.name == "complete com.a.*" && span.attribute(Names.Attribute.requestState) == .string(state.rawValue))
    #expect((span.status != .unset) == (state == .failed))
    #expect(span.attribute(Names.Attribute.errorType) == (state == .failed ? "exit 3" : nil))
  }

  @Test("a quarantined request is said to be that")
  func quarantine() {
    var source = Self.launch(.expired, reason: "stalled", expiring: .stalled)
    source.key.parts = .complete
    source.completion = SpanSource.Completion(state: .failed, reason: "quarantined: …", at: Self.begin)
    #expect(spans(source)[0].attribute(Names.Attribute.errorType) == "quarantined")
  }

  @Test("a launch names its shard, from 0, exactly if its request was divided", arguments: [0, 7])
  func shard(index: Int) {
    var source = Self.launch(.expired, reason: "powerLost", expiring: .powerLost)
    source.shard = index
    #expect(spans(source).allSatisfy { $0.attribute("baton.shard") == nil })
    source.isSpread = true
    #expect(spans(source).map { $0.attribute("baton.shard") } == [nil, .int(Int64(index)), nil])
  }

  @Test("the end of a divided request says how many shards it had, and whether some have failed")
  func shards() {
    func end(_ state: RequestState, shards: Int?) -> SpanRecord {
      spans(
        Self.source(.complete, launch: 9) {
          $0.isSpread = shards != nil
          $0.completion = SpanSource.Completion(state: state, reason: "shard 1 failed", at: Self.begin, shards: shards)
        })[0]
    }
    #expect(end(.succeeded, shards: nil).attribute("baton.request.shards") == nil)
    for state in [RequestState.succeeded, .cancelled, .failed] {
      let span = end(state, shards: 3)
      #expect(span.attribute("baton.request.shards") == 3 && span.attribute(Names.Attribute.launches) == 9)
      #expect(span.attribute("baton.shard") == nil, "it is the end of the whole request")
      #expect(span.attribute(Names.Attribute.errorType) == (state == .failed ? "shardFailed" : nil))
    }
    #expect(end(.failed, shards: 3).status == .error("shard 1 failed"))
  }

  @Test("a retried request has two completions, each with an id of its own that stays")
  func completions() {
    let ids = [15, 30].map { seconds in
      spans(
        Self.source(.complete) {
          $0.completion = SpanSource.Completion(state: .succeeded, reason: nil, at: Self.begin + .seconds(seconds))
        })[0].id
    }
    #expect(ids[0] != ids[1])
    #expect(ids[0] == SpanID(hex: "18fca8959b48bd23"))
  }

  @Test("a wait says what came and went, what it waited for before, and where its history was lost")
  func wait() throws {
    var source = Self.launch(.finished)
    source.launch?.wait = SpanSource.Wait(
      readyAt: Self.begin, heldBy: "notBefore",
      obstacles: WaitObstacles(
        isIncomplete: true,
        events: [
          .init(
            at: Self.begin + .seconds(1), code: "needsExternalPower", came: true, hosts: ["a", "b", "c"], hostCount: 7),
          .init(at: Self.begin + .seconds(3), code: "needsExternalPower", came: false),
        ]))
    source.waitEvents = [EventRecord(at: Self.begin + .seconds(2), name: "poked", detail: "ada")]
    let span = spans(source)[0]
    #expect(span.events.map(\.name) == ["baton.obstacle.came", "baton.poked", "baton.obstacle.went"])
    #expect(
      span.events[0].attributes == [
        Attribute(Names.Attribute.obstacle, "needsExternalPower"),
        Attribute(Names.Attribute.obstacleHosts, .strings(["a", "b", "c"])),
        Attribute(Names.Attribute.obstacleHostCount, 7),
      ])
    #expect(span.events[2].attributes == [Attribute(Names.Attribute.obstacle, "needsExternalPower")])
    #expect(span.attribute(Names.Attribute.heldBy) == "notBefore")
    #expect(span.attribute(Names.Attribute.historyLost) == true)
  }

  @Test(
    "what joined a request is on its first launch, or on its end if it never started: pokes, links, and how many more",
    .contract(41.5))
  func joined() {
    let other = TraceContext(
      traceID: TraceID(high: 9, low: 9), spanID: SpanID(8), isSampled: true)
    let joined = JoinedSubmissions(pokes: ["one", "two"], spans: [other], dropped: 3)
    var first = Self.launch(.finished)
    first.joined = joined
    var ended = Self.source(.complete)
    ended.completion = SpanSource.Completion(state: .cancelled, reason: "ada", at: Self.begin)
    ended.joined = joined
    for span in [spans(first)[1], spans(ended)[0]] {
      #expect(span.attribute(Names.Attribute.pokes) == .strings(["one", "two"]))
      #expect(span.attribute(Names.Attribute.joinedDropped) == 3)
      let link = SpanLink(
        trace: other.traceID, span: other.spanID, attributes: [Attribute(Names.Attribute.joined, true)])
      #expect(span.links == [link])
    }
    var second = Self.launch(.finished, number: 2)
    second.joined = joined
    #expect(spans(second)[1].attribute(Names.Attribute.pokes) == nil && spans(second)[1].links.count == 1)
    first.joined = JoinedSubmissions()
    let plain = spans(first)[1]
    #expect(plain.attribute(Names.Attribute.pokes) == nil && plain.attribute(Names.Attribute.joinedDropped) == nil)
    #expect(plain.links.isEmpty)
  }

  @Test("a step of the wall clock makes no span end before it began")
  func clock() {
    var source = Self.launch(.finished)
    source.launch?.record.endedAt = Self.begin
    #expect(spans(source).allSatisfy { $0.end >= $0.start })
  }

  @Test("what goes on ends for the time being where it is looked at, and is said to go on")
  func open() {
    let running = Self.launch(nil, expiring: .powerLost)
    let found = spans(running)
    #expect(found[1].end == Self.begin + .seconds(60) && found[2].end == Self.begin + .seconds(60))
    #expect(running.openSpans == [found[1].id, found[2].id])
    let waiting = Self.source(.vainWait) { $0.wait = SpanSource.Wait(readyAt: Self.begin) }
    #expect(waiting.openSpans == spans(waiting).map(\.id))
    #expect(Self.launch(.finished).openSpans.isEmpty)
  }
}

extension SpanRecord {
  func attribute(_ key: String) -> AttributeValue? { attributes.first { $0.key == key }?.value }
}
