import BatonAPI
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore
import BatonTelemetry
import Synchronization

/// The page of one request.
struct RequestPage: Sendable {
  /// How many launches and shards are shown.
  private static let shown = 50

  private let details: RequestDetails
  private let trace: RequestTrace
  private let shards: [ShardRecord]
  private let batches: BatchList?
  private let output: Output
  private let definition: RequestDefinition?
  private let now: Timestamp

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let page = try await RequestPage(visit)
    let record = page.details.record
    return Page(
      title: "\(record.identifier) #\(record.number)", section: .requests,
      topics: RequestParts.topics(record) + (page.details.flow.isEmpty ? [] : [.requests]),
      main: page.main(visit))
  }

  private init(_ visit: Visit) async throws {
    let (identifier, number) = (try visit.call.identifier, try visit.call.number)
    let launch = try visit.query.number("launch", in: 1...Int(Int32.max))
    let shard = try visit.query.number("shard", in: 0...Int(Int32.max))
    now = visit.now
    (details, trace, shards, batches, definition) = try await visit.run { api in
      let details = try await api.details(identifier, number: number)
      let record = details.record
      let shards =
        record.shards == nil
        ? [] : try await api.shards(identifier, number: record.number, after: nil, limit: Self.shown)
      return (
        details, try await api.trace(identifier, number: record.number), shards, try await Self.batches(record, api),
        try? await api.definition(of: identifier, number: record.number)
      )
    }
    output = try await Output(details, launch: launch, shard: shard, visit)
  }

  /// The items of the batch that comes next, or that runs; `nil` if the request has no items.
  private static func batches(_ record: RequestRecord, _ api: any OperatorAPI) async throws -> BatchList? {
    guard record.frozenItems != nil, record.shards == nil || record.state == .failed, record.state != .succeeded else {
      return nil
    }
    do { return try await api.batches(record.identifier, number: record.number, shard: nil, batch: nil) } catch {
      // There is no next batch, or no list yet.
      return nil
    }
  }

  func main(_ visit: Visit) -> HTML {
    let record = details.record
    let summary = TraceSummary(trace)
    return """
      \(RequestParts.heading(record, "", buttons: RequestActions.buttons(record, definition, visit)))
      <p class="lead">\(record.standing(at: now).capitalizedFirst). \(summary.sentence.capitalizedFirst).</p>
      \(progress)\(waiting)\(after)
      \(RequestLanes(trace, details.launches, now).figure(record.identifier.rawValue))
      \(FlowPage.section(details, visit))
      \(nextBatch)
      \(launchTable)\(shardTable)
      \(output.html(details))
      \(facts)\(pokes)\(events)\(frozen)
      """
  }

  private var progress: HTML {
    let record = details.record
    let rate = details.curve?.rate.map { "\(Rate.text($0))" }
    let left = details.curve?.timeLeft(of: record.progress.totalUnits).map { "about \($0.inWords) left" }
    let words = [
      counted(record.committedBatches, "batch", plural: "batches"), record.skippedText, record.shards?.text, rate, left,
    ]
    return "<p>\(RequestParts.progress(record)) \(words.compactMap { $0 }.joined(separator: " · "))</p>"
  }

  private var waiting: HTML {
    guard let waiting = details.waiting else { return "" }
    return "<p>Next: \(Parts.request(waiting.identifier, waiting.number)), \(waiting.standing(at: now)).</p>"
  }

  /// What the request waits for, or has waited for, in its flow.
  private var after: HTML {
    guard !details.record.waitsFor.isEmpty else { return "" }
    return """
      <div class="after"><p>\(details.record.launches == 0 && details.record.state.isPending ? "It starts" : "It came") \
      after these:</p><p>\(FlowWords.list(details.record))</p></div>
      """
  }

  private var nextBatch: HTML {
    guard let batches, !batches.batches.isEmpty else { return "" }
    let lists = batches.batches.map { batch -> HTML in
      let place = (batch.shard.map { "shard \($0), " } ?? "") + "batch \(batch.batch)"
      let items = batch.items.map { item -> HTML in "<li><code>\(item)</code></li>" }
      let rest: HTML = batch.last.map { last in "<li>… <code>\(last)</code></li>" } ?? ""
      return """
        <details id="batch-\(batch.shard ?? 0)"\(details.record.state == .failed, " open")><summary>\
        Items of \(place): \(batch.range.lowerBound + 1) to \(batch.range.upperBound) of \(batch.total)</summary>\
        <ul class="items">\(items)\(rest)</ul></details>
        """
    }
    return "\(lists)"
  }

  private var launchTable: HTML {
    let launches = details.launches.suffix(Self.shown).reversed()
    guard !launches.isEmpty else {
      return Parts.empty(
        """
        <p>It was never launched. <a href="\(Parts.link(of: details.record.identifier, details.record.number)
          .appending("why"))">Why it does not run</a></p>
        """)
    }
    let rows = launches.map { launch -> HTML in
      let shard: HTML = details.record.shards == nil ? "" : "<td class=\"number\">\(launch.shard)</td>"
      return """
        <tr id="l\(launch.launch.request.rawValue)-\(launch.shard)-\(launch.launch.number)">\(shard)\
        <td class="number">\(launch.launch.number)</td><td>\(Parts.host(launch.host))</td>\
        <td>\(Parts.time(launch.startedAt, now))</td>\
        <td>\(((launch.endedAt ?? now) - launch.startedAt).magnitude.inWords)</td>\
        <td class="number">\(launch.firstBatch)</td><td class="number">\(launch.batches)</td>\
        <td>\(RequestParts.outcome(launch))</td><td>\(reason(launch))</td></tr>
        """
    }
    let columns = ["Launch", "Host", "Started", "For", "First batch", "Batches", "Outcome", "Reason"]
    let left = details.launches.count - launches.count
    return """
      <section><h2>Launches</h2>\
      \(Parts.table("Launches, the last first", (details.record.shards == nil ? [] : ["Shard"]) + columns, rows))\
      \(left > 0, "<p>\(counted(left, "earlier launch", plural: "earlier launches")) not shown.</p>")</section>
      """
  }

  private func reason(_ launch: LaunchRecord) -> HTML {
    var parts: [HTML] = []
    if let expiring = launch.expiringReason { parts.append(Parts.reason(expiring.code)) }
    if launch.endedAt == nil, launch.expiringReason != nil { parts.append("asked to stop") }
    if let text = launch.reason, launch.expiringReason == nil { parts.append(Parts.long(text, lines: 20)) }
    if launch.outcome == .lost, launch.reason == nil {
      parts.append("its worker died, or was not heard of for the lease term")
    }
    if launch.endedAt != nil, !launch.isGraceful, launch.outcome != .lost { parts.append("killed at its deadline") }
    if launch.isSimulated { parts.append("simulated") }
    return parts.joined(by: ", ")
  }

  private var shardTable: HTML {
    guard let summary = details.record.shards else { return "" }
    let rows = shards.map { shard -> HTML in
      """
      <tr id="s\(shard.index)"><td class="number">\(shard.index)</td>\
      <td>\(shard.isParked ? "waits for a lane" : Parts.state(shard.state))</td>\
      <td class="number">\(shard.completedUnits)\(shard.totalUnits.map { " of \($0)" } ?? "")</td>\
      <td class="number">\(shard.batches)</td><td>\(shard.host.map { Parts.host($0) })</td>\
      <td>\((shard.reason ?? "").lastLine)</td></tr>
      """
    }
    return """
      <section><h2>Shards</h2><p>\(summary.text)</p>\
      \(Parts.table("Shards", ["Shard", "State", "Units", "Batches", "Host", "Reason"], rows))\
      \(summary.total > shards.count, "<p>The first \(shards.count) of \(summary.total).</p>")</section>
      """
  }
}

// MARK: Everything else that is known

extension RequestPage {
  private var facts: HTML {
    let record = details.record
    let result = record.result.map { result -> HTML in
      "<pre class=\"output\" tabindex=\"0\" role=\"region\" aria-label=\"Result\">\(Parts.long(result.text))</pre>"
    }
    let payload = record.payload.map { payload -> HTML in
      "<pre class=\"output\" tabindex=\"0\" role=\"region\" aria-label=\"Payload\">\(Parts.long(String(decoding: payload.prefix(64 << 10), as: UTF8.self)))</pre>"
    }
    return """
      <section><h2>Facts</h2>\
      \(Parts.facts([
        ("Title", "\(record.titles)"), ("Kind", "\(record.kind.rawValue)"), ("Priority", "\(record.priority.name)"),
        ("Queue", "\(details.position?.queueText ?? "")"),
        ("Definition", Parts.definition(record.pattern)),
        ("Flow", record.flow.map { "<a href=\"\(FlowPage.link(of: $0))\">\(Int($0.rawValue))</a>" } ?? ""),
        ("Version", "\(details.version.map { "\($0.number) of \($0.newest)" } ?? "")"),
        ("Submitted", "\(Parts.time(record.submittedAt, now)) \(record.principal.isEmpty ? "" : "by \(record.principal)")"),
        ("Started", record.startedAt.map { Parts.time($0, now) } ?? ""),
        ("Ended", record.endedAt.map { Parts.time($0, now) } ?? ""),
        ("Trace", "\(record.trace.traceID.description)"), ("Payload", payload ?? ""), ("Result", result ?? ""),
      ]))</section>
      """
  }

  private var pokes: HTML {
    guard !details.pokes.isEmpty else { return "" }
    let rows = details.pokes.suffix(Self.shown).enumerated().map { index, poke -> HTML in
      """
      <tr id="p\(index)"><td>\(poke.id)</td><td>\(Parts.time(poke.at, now))</td>\
      <td class="number">\(poke.priority.rawValue)</td><td>\(poke.principal)</td></tr>
      """
    }
    return "<section><h2>Pokes</h2>\(Parts.table("Pokes", ["Poke", "At", "Priority", "By"], rows))</section>"
  }

  private var events: HTML {
    guard !details.events.isEmpty else { return "" }
    let rows = details.events.suffix(100).enumerated().map { index, event -> HTML in
      """
      <tr id="e\(index)"><td>\(Parts.time(event.at, now))</td><td>\(event.name)</td><td>\(event.detail ?? "")</td></tr>
      """
    }
    return "<section><h2>Events</h2>\(Parts.table("Events", ["At", "Event", "Detail"], rows))</section>"
  }

  private var frozen: HTML {
    guard let definition else { return "" }
    return """
      <details id="definition"><summary>The definition that it runs\
      \(definition.isApplied ? "" : ", which is not the one that is applied now")</summary>\
      <pre class="output" tabindex="0" role="region" aria-label="Definition">\(Parts.long((try? DefinitionValue(definition.definition).yaml) ?? "", lines: 1_000))</pre></details>
      """
  }
}

/// The end of the output of one launch.
private struct Output: Sendable {
  private static let (lines, bytes) = (200, 64 << 10)

  private var text: [UInt8] = []
  private var launch: Int?
  private var shard: Int?
  private var problem: String?

  init(_ details: RequestDetails, launch: Int?, shard: Int?, _ visit: Visit) async throws {
    let record = details.record
    let wanted = details.launches.last { one in
      (launch == nil || one.launch.number == launch) && (shard == nil || one.shard == shard)
    }
    guard let wanted else { return }
    (self.launch, self.shard) = (wanted.launch.number, record.shards == nil ? nil : wanted.shard)
    let read = Mutex<[UInt8]>([])
    do {
      try await visit.run { api in
        let selection = LogSelection(shards: .one(wanted.shard), launch: wanted.launch.number, tail: Self.lines)
        try await api.logs(record.identifier, number: record.number, selection) { piece in
          read.withLock { $0 = Array(($0 + piece.bytes).suffix(Self.bytes)) }
        }
      }
      text = read.withLock { $0 }
    } catch let failure as HTTPFailure {
      problem = failure.message
    }
  }

  func html(_ details: RequestDetails) -> HTML {
    guard let launch else { return "" }
    let link = Parts.link(of: details.record.identifier, details.record.number)
    let others = details.launches.suffix(10).filter { $0.launch.number != launch || (shard ?? 0) != $0.shard }
    let links = others.map { one -> HTML in
      let isDivided = details.record.shards != nil
      let query = [
        ("launch", "\(one.launch.number)"), ("shard", isDivided ? "\(one.shard)" : nil),
      ]
      return """
        <li><a href="\(link.with(query))">\(isDivided ? "shard \(one.shard), " : "")launch \(one.launch.number)</a></li>
        """
    }
    let shown: HTML =
      problem.map { problem in "<p class=\"failure\">\(problem)</p>" }
      ?? (text.isEmpty
        ? "<p>It has written nothing.</p>"
        : """
        <pre class="output" tabindex="0" id="output" role="region" aria-label="Output">\(Parts.long(String(decoding: text, as: UTF8.self)))</pre>
        """)
    return """
      <section><h2>Output of \(shard.map { "shard \($0), " } ?? "")launch \(launch)</h2>\(shown)\
      \(!links.isEmpty, "<p>The last \(Self.lines) lines. Others:</p><ul class=\"strip\">\(links)</ul>")</section>
      """
  }
}

/// A rate in words.
private enum Rate {
  static func text(_ rate: Double) -> String {
    if rate >= 10 { return "\(Int(rate)) a second" }
    if rate >= 1 { return "\(Double(Int(rate * 10)) / 10) a second" }
    return rate * 60 >= 1 ? "\(Int(rate * 60)) a minute" : "\(Int(rate * 3600)) an hour"
  }
}

extension String {
  /// The text as the beginning of a sentence.
  var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
