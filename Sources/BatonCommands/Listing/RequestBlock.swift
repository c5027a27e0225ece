import BatonCoordinator
import BatonModel
import BatonStore

/// `baton show`: one request with every launch and every event.
func requestBlock(_ details: RequestDetails, _ console: Console) -> [String] {
  let style = console.style(of: .output)
  var lines = [style.bold(details.record.name.description)] + block(facts(details.record, console))
  if !details.launches.isEmpty { lines += [""] + launchTable(details.launches, console) }
  if !details.events.isEmpty { lines += [""] + eventTable(details.events, console) }
  return lines
}

private func facts(_ record: RequestRecord, _ console: Console) -> [(name: String, value: String)] {
  let now = console.environment.now()
  let style = console.style(of: .output)
  return [
    ("State", style.paint(record.standing(at: now), record.state.colour)),
    ("Title", record.title?.onOneLine ?? ""),
    ("Subtitle", record.subtitle?.onOneLine ?? ""),
    ("Progress", progress(record)),
    ("Kind", record.kind.rawValue),
    ("Priority", record.priority.name),
    ("Definition", record.pattern.rawValue),
    (
      "Submitted",
      record.submittedAt.dated(from: now) + (record.principal.isEmpty ? "" : " by \(record.principal.onOneLine)")
    ),
    ("Started", record.startedAt?.dated(from: now) ?? ""),
    ("Ended", record.endedAt?.dated(from: now) ?? ""),
    ("Payload", record.payload.map { String(decoding: $0, as: UTF8.self).onOneLine.cut(to: 200) } ?? ""),
    ("Trace", record.trace.traceID.hexadecimal),
  ]
}

private func progress(_ record: RequestRecord) -> String {
  "\(record.unitsText) done\(record.percent.map { " (\($0) %)" } ?? ""), "
    + counted(record.progress.batches, "batch", plural: "batches")
}

private func launchTable(_ launches: [LaunchRecord], _ console: Console) -> [String] {
  let now = console.environment.now()
  let rows = launches.map { launch in
    [
      Cell(String(launch.launch.number)), Cell(launch.host.rawValue), Cell(launch.startedAt.wholeSeconds),
      Cell(((launch.endedAt ?? now) - launch.startedAt).magnitude.inWords), Cell(String(launch.firstBatch)),
      Cell(String(launch.batches)), Cell(launch.outcome ?? "running", launch.colour), Cell(launch.detail),
    ]
  }
  return TablePrinter.lines(
    [
      .init("LAUNCH", isNumber: true), .init("HOST"), .init("STARTED", rank: 2), .init("FOR", isNumber: true),
      .init("FIRST BATCH", isNumber: true, rank: 1), .init("BATCHES", isNumber: true), .init("OUTCOME"),
      .init("REASON"),
    ], rows, style: console.style(of: .output), width: console.outputColumns)
}

private func eventTable(_ events: [EventRecord], _ console: Console) -> [String] {
  let rows = events.map { [Cell($0.at.wholeSeconds), Cell($0.name), Cell($0.detail ?? "")] }
  return TablePrinter.lines(
    [.init("AT"), .init("EVENT"), .init("DETAIL")], rows, style: console.style(of: .output),
    width: console.outputColumns)
}

extension LaunchRecord {
  fileprivate var colour: Style.Colour? {
    switch outcome {
    case nil: .cyan
    case "finished": .green
    case "failed", "lost": .red
    default: .yellow
    }
  }

  /// Why it ended, or is asked to.
  fileprivate var detail: String {
    if endedAt == nil { return expiringReason.map { "expiring: \($0.code)" } ?? "" }
    return (reason ?? "") + (isGraceful || outcome == "lost" ? "" : " (killed at its deadline)")
  }
}
