import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// The text of `baton hosts NAME --history`: the changes of the conditions, and below them what ran, the newest first.
func historyText(_ history: HostHistory, of host: HostName, _ since: Timestamp, _ console: Console) -> [String] {
  let (now, style) = (console.environment.now(), console.style(of: .output))
  let heading = style.bold("\(host.rawValue.onOneLine), since \(since.dated(from: now))")
  let conditions = TablePrinter.lines(
    [.init("AT"), .init("CONDITION"), .init("VALUE"), .init("SOURCE", rank: 1), .init("READ", rank: 2)],
    history.conditions.map { change in
      [
        Cell(change.at.utc), Cell(change.condition), Cell(change.value ?? "unknown"), Cell(change.source),
        Cell(change.raw.isEmpty ? "-" : change.raw),
      ]
    }, style: style, width: console.outputColumns)
  let launches = TablePrinter.lines(
    [
      .init("STARTED"), .init("FOR", isNumber: true), .init("REQUEST"), .init("LAUNCH", isNumber: true),
      .init("OUTCOME"),
      .init("REASON", rank: 1),
    ],
    history.launches.map { launch in
      [
        Cell(launch.startedAt.utc), Cell(((launch.endedAt ?? now) - launch.startedAt).magnitude.inWords),
        Cell(launch.name), Cell(String(launch.launch)), Cell(launch.outcome?.rawValue ?? "running"),
        Cell(launch.reason?.plainLines.last ?? "-"),
      ]
    }, style: style, width: console.outputColumns)
  return [heading, ""] + (history.conditions.isEmpty ? ["no condition has changed"] : conditions) + [""]
    + (history.launches.isEmpty ? ["nothing ran for a second or more"] : launches)
}

extension HostLaunch {
  /// The request, and the shard of a divided one.
  var name: String {
    RequestName(identifier: identifier, number: number).description + (shard > 0 ? ", shard \(shard)" : "")
  }
}
