import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

struct LimitsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "limits",
    abstract: "Show the limits by key, with what runs and waits.",
    discussion: """
      'concurrency' and 'rate' of a job name a key, and all requests with the key share its limit. Shown are keys that \
      launches have had lately, and those for which a limit is set. LIMIT is what holds now; 'baton set --key' changes \
      it, and (set) stands behind a limit that was set. NEXT is when the next launch of a rate may start.

      Examples:
        baton limits
        baton limits customer/
        baton limits -o jsonl | jq -c 'select(.waiting > 0) | [.key, .waiting]'
      """)

  @Argument(help: "What the keys begin with; every key if it is left out.") var beginning = ""

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  /// How many keys one answer of the coordinator has.
  private static let page = 500

  func run() async throws {
    let (console, beginning) = (Console.current, beginning)
    let limits = try await client.connect { api in
      var all: [LimitRecord] = []
      while true {
        let page = try await api.limits(beginningWith: beginning, after: all.last?.key, limit: Self.page)
        all += page
        if page.count < Self.page { return all }
      }
    }
    console.emit(options.output, list: limits.map { JSONValue($0) }) { table(limits, console) }
  }
}

private func table(_ limits: [LimitRecord], _ console: Console) -> [String] {
  if limits.isEmpty { console.note("no key has a limit that is set, or had a launch lately") }
  let now = console.environment.now()
  return TablePrinter.lines(
    [
      .init("KEY"), .init("KIND", rank: 2), .init("LIMIT"), .init("RUNNING", isNumber: true),
      .init("WAITING", isNumber: true), .init("NEXT", rank: 1),
    ], limits.map { row($0, now) }, style: console.style(of: .output), width: console.outputColumns)
}

private func row(_ record: LimitRecord, _ now: Timestamp) -> [Cell] {
  let waiting = record.waiting >= LimitObstacle.lastPosition ? "\(record.waiting)+" : "\(record.waiting)"
  return [
    Cell(record.key.text.onOneLine), Cell(record.key.kind.rawValue),
    Cell((record.limit?.text ?? "-") + (record.setting == nil ? "" : " (set)")),
    Cell(record.key.kind == .rate ? "-" : "\(record.running)"), Cell(waiting, record.waiting > 0 ? .yellow : nil),
    Cell(record.nextAt.map { $0 <= now ? "now" : "in \(($0 - now).inWords)" } ?? "-"),
  ]
}

extension LimitRecord {
  /// The limit on one line.
  var line: String {
    "\(key.text.onOneLine): \(key.kind.rawValue) \(setting?.text ?? "as its definitions say")"
  }
}

extension LimitSetting {
  /// - Parameter text: the value as `baton set --key` takes it, without checks of its bounds.
  init?(_ kind: LimitKind, _ text: String) {
    switch kind {
    case .concurrency:
      guard let limit = Int(text) else { return nil }
      self = .concurrency(limit)
    case .rate:
      let parts = text.split(separator: ",", omittingEmptySubsequences: false)
      let rate = parts[0].split(separator: "/", omittingEmptySubsequences: false)
      guard rate.count == 2, let limit = Int(rate[0]), let per = try? Values.duration(String(rate[1])) else {
        return nil
      }
      var rule = StartRate(limit: limit, per: per)
      guard parts.count > 1 else {
        self = .rate(rule)
        return
      }
      guard parts.count == 2, parts[1].hasPrefix("burst="), let burst = Int(parts[1].dropFirst(6)) else { return nil }
      rule.burst = burst
      self = .rate(rule)
    }
  }
}
