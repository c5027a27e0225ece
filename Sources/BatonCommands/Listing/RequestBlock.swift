import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// The text of `baton show`: one request with every poke, launch and event.
/// - Parameters:
///   - shards: the shards to list in place of the launches; `nil` lists the launches.
///   - batches: the batches at which the request has failed; `nil` if that is not known.
func requestBlock(
  _ details: RequestDetails, shards: [ShardRecord]? = nil, batches: BatchList? = nil, _ console: Console
) -> [String] {
  let style = console.style(of: .output)
  let facts = facts(details, console) + (batches?.facts ?? [])
  var lines = [style.bold(details.record.name.description)] + block(facts, columns: console.outputColumns)
  if details.flow.count > 1 {
    let tree = FlowTree(details.flow).lines(marking: details.record.id, at: console.environment.now())
    lines += ["", "  Flow"] + tree.map { "  " + $0 }
  }
  if let failure = failure(details, console) { lines += [""] + failure }
  if !details.pokes.isEmpty { lines += [""] + pokeTable(details.pokes, console) }
  if let shards {
    lines += [""] + shardTable(shards, console)
  } else if !details.launches.isEmpty {
    lines += [""] + launchTable(details.launches, isOfShards: details.record.shards != nil, console)
  }
  if !details.events.isEmpty { lines += [""] + eventTable(details.events, console) }
  return lines
}

/// The reason of the failure with its line breaks; `nil` if it has one line only, which the table of launches already
/// shows. Of a request that has not ended it is that of an earlier launch, and is left out once the request has gone on
/// past it.
private func failure(_ details: RequestDetails, _ console: Console) -> [String]? {
  guard let (title, text) = details.failure(at: console.environment.now()) else { return nil }
  let lines = text.plainLines
  guard lines.count > 1 else { return nil }
  let room = console.outputColumns.map { max(20, $0 - 4) } ?? .max
  return ["  \(title)"] + lines.flatMap { $0.columns > room ? $0.wrapped(to: room) : [$0] }.map { "    " + $0 }
}

extension RequestDetails {
  /// The failure to show, with a title.
  fileprivate func failure(at now: Timestamp) -> (title: String, text: String)? {
    switch record.state {
    case .succeeded, .cancelled: return nil
    case .failed: return record.reason.map { ("Failure", $0) }
    case .scheduled, .ready, .running: break
    }
    guard let failed = launches.last(where: { $0.outcome == .failed }), let text = failed.reason else { return nil }
    let later = launches.filter { $0.launch.request == failed.launch.request && failed.launch < $0.launch }
    // Its batch was done since.
    guard !later.contains(where: { $0.batches > 0 || $0.outcome == .finished }) else { return nil }
    let shard = record.shards == nil ? "" : "shard \(failed.shard), "
    return (
      "Earlier failure: \(shard)launch \(failed.launch.number), \((failed.endedAt ?? failed.startedAt).dated(from: now))",
      text
    )
  }
}

private func facts(_ details: RequestDetails, _ console: Console) -> [(name: String, value: String)] {
  let record = details.record
  let now = console.environment.now()
  let style = console.style(of: .output)
  return [
    ("State", style.paint(record.standing(at: now), record.state.colour)),
    ("Queue", details.position?.queueText ?? ""),
    ("Next", details.waiting.map { "request \($0.number), \($0.standing(at: now))" } ?? ""),
    ("Title", record.title?.onOneLine ?? ""),
    ("Subtitle", record.subtitle?.onOneLine ?? ""),
    ("Progress", progress(record)),
    ("Pace", details.paceText ?? ""),
    ("Shards", record.shards?.text ?? ""),
    ("Kind", record.kind.rawValue),
    ("Priority", record.priority.name),
    ("Definition", record.pattern.rawValue + (details.version.map { ", \($0.text)" } ?? "")),
    (
      "Submitted",
      record.submittedAt.dated(from: now) + (record.principal.isEmpty ? "" : " by \(record.principal.onOneLine)")
    ),
    (
      "Scheduled",
      record.scheduledAt.map { $0.dated(from: now) + (record.isBackfill ? ", of a backfill" : "") } ?? ""
    ),
    ("Pokes", details.pokes.isEmpty ? "" : String(details.pokes.count)),
    ("Started", record.startedAt?.dated(from: now) ?? ""),
    ("Ended", record.endedAt?.dated(from: now) ?? ""),
    ("Payload", record.payload.map { String(decoding: $0, as: UTF8.self).onOneLine.cut(to: 200) } ?? ""),
    ("Result", record.result?.text.onOneLine.cut(to: 200) ?? ""),
    ("Flow", record.flow.map { "\($0.rawValue)" } ?? ""),
    ("Trace", record.trace.traceID.description),
  ]
}

extension VersionNumber {
  /// `version 3`, or `version 3 of 5` if a newer one is applied.
  var text: String { "version \(number)" + (newest > number ? " of \(newest)" : "") }
}

extension RequestDetails {
  /// The rate and the time that is left of the running launch, such as `12/s, 3m left`.
  fileprivate var paceText: String? {
    guard let curve, let rate = curve.rate else { return nil }
    let left = curve.timeLeft(of: record.progress.totalUnits).map { ", about \($0.inWords) left" } ?? ""
    return Pace.speed(rate) + left
  }
}

private func progress(_ record: RequestRecord) -> String {
  "\(record.unitsText) done\(record.percent.map { " (\($0) %)" } ?? ""), "
    + counted(record.committedBatches, "batch", plural: "batches")
    + (record.skippedText.map { ", \($0)" } ?? "")
}

private func pokeTable(_ pokes: [PokeRecord], _ console: Console) -> [String] {
  let rows = pokes.map { poke in
    [Cell(poke.id), Cell(poke.at.utc), Cell(String(poke.priority.rawValue)), Cell(poke.principal)]
  }
  return TablePrinter.lines(
    [.init("POKE"), .init("AT"), .init("PRIORITY", isNumber: true), .init("BY")], rows,
    style: console.style(of: .output), width: console.outputColumns)
}

/// How many launches of a request with shards are shown, the last ones.
private let shownLaunches = 20

private func launchTable(_ launches: [LaunchRecord], isOfShards: Bool, _ console: Console) -> [String] {
  let now = console.environment.now()
  let isSimulated = launches.contains(where: \.isSimulated)
  let shown = isOfShards ? Array(launches.suffix(shownLaunches)) : launches
  let table = TablePrinter.lines(
    (isOfShards ? [.init("SHARD", isNumber: true)] : []) + launchColumns
      + (isSimulated ? [.init("SIMULATED")] : []),
    shown.map { launch in
      (isOfShards ? [Cell(String(launch.shard))] : []) + row(launch, now)
        + (isSimulated ? [launch.isSimulated ? Cell("yes", .yellow) : "-"] : [])
    },
    style: console.style(of: .output), width: console.outputColumns)
  return shown.count < launches.count ? table + ["the last \(shown.count) launches; --shards lists the shards"] : table
}

private func shardTable(_ shards: [ShardRecord], _ console: Console) -> [String] {
  TablePrinter.lines(
    ShardTable.columns, shards.map(ShardTable.row), style: console.style(of: .output), width: console.outputColumns)
}

private let launchColumns: [TablePrinter.Column] = [
  .init("LAUNCH", isNumber: true), .init("HOST"), .init("STARTED", rank: 2), .init("FOR", isNumber: true, rank: 3),
  .init("FIRST BATCH", isNumber: true, rank: 1), .init("BATCHES", isNumber: true, rank: 4), .init("OUTCOME"),
  .init("REASON"),
]

private func row(_ launch: LaunchRecord, _ now: Timestamp) -> [Cell] {
  [
    Cell(String(launch.launch.number)), Cell(launch.host.rawValue), Cell(launch.startedAt.utc),
    Cell(((launch.endedAt ?? now) - launch.startedAt).magnitude.inWords), Cell(String(launch.firstBatch)),
    Cell(String(launch.batches)),
    Cell(launch.outcome?.rawValue ?? (launch.endedAt == nil ? "running" : "ended"), launch.colour), Cell(launch.detail),
  ]
}

private func eventTable(_ events: [EventRecord], _ console: Console) -> [String] {
  let rows = events.map { [Cell($0.at.utc), Cell($0.name), Cell($0.detail ?? "")] }
  return TablePrinter.lines(
    [.init("AT"), .init("EVENT"), .init("DETAIL")], rows, style: console.style(of: .output),
    width: console.outputColumns)
}

extension LaunchRecord {
  fileprivate var colour: Style.Colour? {
    switch outcome {
    case nil: .cyan
    case .finished: .green
    case .failed, .lost: .red
    case .expired: .yellow
    }
  }

  /// Why the launch ended, or why it is asked to stop.
  fileprivate var detail: String {
    if endedAt == nil { return expiringReason.map { "expiring: \($0.words)" } ?? "" }
    if outcome == .lost, reason == nil { return "its worker died, or was not heard of for the lease term" }
    return (reason?.lastLine ?? "") + (isGraceful || outcome == .lost ? "" : " (killed at its deadline)")
  }
}

extension ExpiryReason {
  /// The code of the reason. For a simulated expiry the reason that was simulated follows, as it does for a launch that
  /// has ended.
  fileprivate var words: String {
    kind == .simulated ? detail.map { "\(code) (\($0))" } ?? code : code
  }
}
