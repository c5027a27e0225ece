import BatonModel
import BatonTelemetry

@testable import BatonCommands
@testable import BatonJSON

/// Traces as a coordinator answers them, with times in seconds since the submission. The request of
/// `com.example.report` was submitted at 05:30.
struct TraceSample {
  static let submitted = Timestamp(nanoseconds: 1_772_343_000_250_000_000)
  static let id = TraceID(hex: "4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b")!
  static let name = RequestName(identifier: JobIdentifier(trusted: "com.example.report"), number: 3)

  /// When the trace is read, in seconds since the submission.
  var readAt: Double = 0
  var trace: RequestTrace { RequestTrace(spans: spans, open: open, asOf: Self.at(readAt)) }
  var spans: [SpanRecord] = []
  private var open: Set<SpanID> = []
  private var launches = 0

  init() { add(.submit, 0, 0, parent: SpanID(.max)) }

  static func at(_ seconds: Double) -> Timestamp { submitted + .nanoseconds(Int64(seconds * 1e9)) }

  /// - Parameter end: `nil` for a span that is still open.
  @discardableResult
  mutating func add(
    _ role: Names.Span, _ start: Double, _ end: Double?, parent: SpanID = SpanID(1), _ attributes: [Attribute] = []
  ) -> SpanID {
    let id = SpanID(UInt64(spans.count + 1))
    if end == nil { open.insert(id) }
    let common = [
      Attribute(Names.Attribute.definition, "com.example.report"),
      Attribute(Names.Attribute.identifier, "com.example.report"), Attribute(Names.Attribute.request, 3),
    ]
    spans.append(
      SpanRecord(
        trace: Self.id, id: id, parent: parent, name: role.name(of: "com.example.report"), kind: role.kind,
        start: Self.at(start), end: Self.at(end ?? readAt), attributes: common + attributes))
    return id
  }

  /// - Parameter obstacles: when each obstacle came and went; one without an end was there to the end of the wait.
  mutating func wait(
    _ start: Double, _ end: Double?, _ obstacles: [(code: String, came: Double, went: Double?)] = [],
    heldBy: String? = nil, isHistoryLost: Bool = false
  ) {
    var attributes: [Attribute] = []
    if let heldBy { attributes.append(Attribute(Names.Attribute.heldBy, .string(heldBy))) }
    if isHistoryLost { attributes.append(Attribute(Names.Attribute.historyLost, true)) }
    add(.wait, start, end, attributes)
    for obstacle in obstacles {
      event(Names.Event.obstacleCame, obstacle.came, obstacle.code, as: Names.Attribute.obstacle)
      if let went = obstacle.went { event(Names.Event.obstacleWent, went, obstacle.code, as: Names.Attribute.obstacle) }
    }
    spans[spans.count - 1].events.sort { $0.time < $1.time }
  }

  /// Adds an event to the last span.
  mutating func event(_ name: String, _ seconds: Double, _ value: String?, as key: String = Names.Attribute.detail) {
    spans[spans.count - 1].events.append(
      SpanEvent(time: Self.at(seconds), name: name, attributes: value.map { [Attribute(key, .string($0))] } ?? []))
  }

  @discardableResult
  mutating func launch(
    _ start: Double, _ end: Double?, on host: String, _ outcome: LaunchOutcome.Kind?, _ reason: String? = nil,
    batches: Int64 = 4, error: String? = nil, shard: (index: Int, launch: Int)? = nil
  ) -> SpanID {
    launches += 1
    var attributes = [
      Attribute(Names.Attribute.launch, .int(Int64(shard?.launch ?? launches))),
      Attribute(Names.Attribute.host, .string(host)),
      Attribute(Names.Attribute.batches, .int(batches)),
    ]
    if let shard { attributes.append(Attribute(Names.Attribute.shard, .int(Int64(shard.index)))) }
    if let outcome { attributes.append(Attribute(Names.Attribute.launchOutcome, .string(outcome.rawValue))) }
    if let reason { attributes.append(Attribute(Names.Attribute.expiryReason, .string(reason))) }
    let id = add(.launch, start, end, attributes)
    if let error { spans[spans.count - 1].status = .error(error) }
    return id
  }

  mutating func transfer(
    _ start: Double, _ end: Double, _ number: Int64, bytes: Int64 = 0, attempts: Int64 = 1, resumedFrom: Int64 = 0,
    error: String? = nil
  ) {
    add(
      .transfer, start, end,
      [
        Attribute(Names.Attribute.transfer, .int(number)), Attribute(Names.Attribute.host, "anna"),
        Attribute(Names.Attribute.transferBytes, .int(bytes)),
        Attribute(Names.Attribute.transferAttempts, .int(attempts)),
        Attribute(Names.Attribute.transferResumedFrom, .int(resumedFrom)),
        Attribute(Names.Attribute.transferOutcome, .string(error == nil ? "done" : "failed")),
      ])
    if let error { spans[spans.count - 1].status = .error(error) }
  }

  mutating func expire(_ start: Double, _ end: Double?, of launch: SpanID, _ reason: String, isGraceful: Bool? = true) {
    var attributes = [
      Attribute(Names.Attribute.expiryReason, .string(reason)), Attribute(Names.Attribute.expiryDeadline, 30.0),
    ]
    if let isGraceful { attributes.append(Attribute(Names.Attribute.expiryGraceful, .bool(isGraceful))) }
    add(.expire, start, end, parent: launch, attributes)
  }

  mutating func complete(_ seconds: Double, _ state: RequestState, error: String? = nil) {
    add(.complete, seconds, seconds, [Attribute(Names.Attribute.requestState, .string(state.rawValue))])
    if let error { spans[spans.count - 1].status = .error(error) }
    readAt = seconds
  }
}

extension TraceSample {
  /// A request that waited for power, expired when its host was unplugged, and was finished by another host.
  static let slow = made { sample in
    sample.wait(
      0, 760, [("needsExternalPower", 0, 760), ("slotsInUse", 60, 90), ("slotsInUse", 200, 240)])
    let first = sample.launch(760, 850.5, on: "anna", .expired, "powerLost", batches: 9)
    sample.event("baton.poked", 800, "ana")
    sample.expire(844, 850.5, of: first, "powerLost")
    sample.wait(850.5, 852, [("needsExternalPower", 850.5, 852)])
    sample.launch(852, 943.5, on: "ben", .finished, batches: 12)
    sample.complete(943.5, .succeeded)
  }

  /// A request that waited for two files, of which one could not be fetched.
  static let transfers = made { sample in
    sample.transfer(0.5, 600, 0, bytes: 1_048_576, attempts: 3, resumedFrom: 524_288)
    sample.transfer(0.5, 30, 1, error: "https://example.com/b: status 404 (Not Found)")
    sample.launch(600, 620, on: "anna", .finished)
    sample.complete(620, .succeeded)
  }

  static let running = made { sample in
    sample.readAt = 400
    sample.wait(300, 310.2, [("slotsInUse", 300, 310.2)], heldBy: "notBefore")
    let launch = sample.launch(310.2, nil, on: "anna", nil)
    sample.event("baton.suspect", 380, "for 1m, on anna")
    sample.expire(395, nil, of: launch, "thermal", isGraceful: nil)
  }

  static let waiting = made { sample in
    sample.readAt = 5400
    sample.wait(0, nil, [("needsNetwork", 3600, nil), ("hostGone", 0, 1800)], isHistoryLost: true)
  }

  static let scheduled = made { $0.readAt = 90 }

  /// A request that failed twice and for good, and that an operator retried without the batch that failed.
  static let failed = made { sample in
    sample.launch(0, 12, on: "anna", .failed, error: "./resize.sh: exit status 2\nno such album: IMG_0120")
    sample.wait(22, 22.2, heldBy: "backingOff")
    sample.launch(22.2, 30, on: "ben", .lost, batches: 0, error: "its worker is gone")
    sample.wait(30, 30.1)
    sample.launch(30.1, 42, on: "ben", .failed, error: "exit status 2")
    sample.complete(42, .failed, error: "exit status 2")
    sample.wait(642, 642.1)
    sample.event("baton.retried", 642, nil)
    sample.event("baton.skippedBatch", 642, "7")
    sample.launch(642.1, 700, on: "ben", .finished)
    sample.complete(700, .succeeded)
  }

  /// A request with 200 launches in two weeks, on hosts that come and go.
  static let long = made { sample in
    var time: Double = 0
    for number in 1...200 {
      let wait: Double = number == 77 ? 86_400 : 1800
      sample.wait(time, time + wait, [("needsIdleHost", time, nil)])
      let reason = number % 9 == 0 ? nil : number % 5 == 0 ? "powerLost" : "hostBusy"
      let launch = sample.launch(
        time + wait, time + wait + 3600, on: number % 2 == 0 ? "anna" : "ben", reason == nil ? .lost : .expired, reason,
        error: reason == nil ? "its worker is gone" : nil)
      if let reason { sample.expire(time + wait + 3590, time + wait + 3600, of: launch, reason) }
      time += wait + 3600
    }
    sample.launch(time, time + 600, on: "anna", .finished)
    sample.complete(time + 600, .succeeded)
  }

  /// A request with so many shards on so many lanes. Shard 5 loses its host, and another host takes it over.
  static func divided(shards: Int, lanes: Int) -> RequestTrace {
    made { sample in
      var free = (0..<lanes).map { 0.1 * Double($0) }
      func host(_ lane: Int) -> String { "host-\(lane / 4)" }
      for index in 0..<shards {
        let lane = free.indices.min { (free[$0], $0) < (free[$1], $1) } ?? 0
        let (start, length) = (free[lane], 60 + Double(index % 7) * 5)
        if index == 5 {
          sample.launch(
            start, start + 20, on: host(lane), .lost, batches: 1, error: "its worker is gone", shard: (5, 1))
          sample.wait(start + 20, start + 22)
          sample.launch(start + 22, start + length, on: "host-9", .finished, shard: (5, 2))
        } else {
          sample.launch(start, start + length, on: host(lane), .finished, shard: (index, 1))
        }
        free[lane] = start + length + 0.05
      }
      sample.complete((free.max() ?? 0), .succeeded)
    }
  }

  static func made(_ body: (inout TraceSample) -> Void) -> RequestTrace {
    var sample = TraceSample()
    body(&sample)
    return sample.trace
  }
}
