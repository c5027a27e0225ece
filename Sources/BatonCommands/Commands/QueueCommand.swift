import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct QueueCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "queue",
    abstract: "Show what waits for a host, in the order in which it starts.",
    discussion: """
      Requests of one definition and one priority start one after the other, and stand in one line here. The first line \
      goes first where a host can take requests of several lines. The obstacle is what keeps the first request from \
      starting; 'baton explain' tells everything about one request.

      Examples:
        baton queue
        baton queue -o json | jq '.classes[] | {definition, ready}'
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let queue = try await client.connect { try await $0.queue() }
    console.emit(options.output, JSONValue(queue)) { text(queue, console) }
  }

  private func text(_ queue: QueueReport, _ console: Console) -> [String] {
    if queue.classes.isEmpty { console.note("nothing waits for a host") }
    if queue.moreClasses > 0 {
      console.note("\(counted(queue.moreClasses, "more class", plural: "more classes")) of requests wait")
    }
    let now = console.environment.now()
    return TablePrinter.lines(
      [
        .init("DEFINITION"), .init("PRIORITY"), .init("READY", isNumber: true), .init("WAITS", isNumber: true),
        .init("OBSTACLE"), .init("NEXT", rank: 1),
      ],
      queue.classes.map { one in
        [
          Cell(one.nameText), Cell(one.priorityText), Cell(one.readyText),
          Cell(one.oldest.map { (now - $0).magnitude.inWords } ?? "-"), Cell(one.obstacleText),
          Cell(one.next.map(\.name).joined(separator: ", ")),
        ]
      }, style: console.style(of: .output), width: console.outputColumns)
  }
}

extension QueueReport.Class {
  fileprivate var nameText: String { pattern.rawValue + (keepsEarlier ? ", earlier definition" : "") }
  fileprivate var priorityText: String { priority.name + (countsAs.map { ", counts as \($0.name)" } ?? "") }
  fileprivate var readyText: String { ready > Verbs.countLimit ? "> \(Verbs.countLimit)" : String(ready) }
  fileprivate var obstacleText: String {
    guard let obstacle else { return "-" }
    return obstacle + (obstacleHosts.map { " on \(counted($0, "host"))" } ?? "")
  }
}

extension QueuedClass.Next {
  fileprivate var name: String { "\(identifier) #\(number)" + (shard > 0 ? ", shard \(shard)" : "") }
}
