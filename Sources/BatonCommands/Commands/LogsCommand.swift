import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore
import Synchronization

struct LogsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "logs",
    abstract: "Print what a request's launches wrote.",
    discussion: """
      Prints the output of the running request, otherwise of the last request that ran: standard output and standard \
      error of the command together, byte for byte, so control sequences act on your terminal. The last 64 KiB of each \
      launch are kept. If there are several launches, a line on standard error before each names the launch. Of a \
      request with shards, the output of one shard is printed: that of --shard, otherwise of the last one that failed, \
      otherwise of the one that started last.

      Examples:
        baton logs com.example.report
        baton logs com.example.report --follow
        baton logs com.example.report --request 3 --launch 2
      """)

  @OptionGroup var request: RequestArgument

  @Flag(help: "Go on with new output until the request has ended.") var follow = false

  @Option(help: ArgumentHelp("Only this launch.", valueName: "number"), transform: Arguments.positive)
  var launch: Int?

  @Option(help: ArgumentHelp("The shard, counted from 0.", valueName: "number"), transform: Arguments.index)
  var shard: Int?

  @OptionGroup var client: ClientOptions

  func run() async throws {
    let command = self
    try await client.connect { api in
      var details = try await api.details(
        command.request.identifier, number: command.request.request, choosing: .ran)
      let shard = details.record.shards == nil ? command.shard : command.shard ?? details.shardOfInterest
      if let shard { details.launches.removeAll { $0.shard != shard } }
      try command.check(details)
      if command.shard == nil, let shard { Console.current.note("shard \(shard) of \(details.record.name)") }
      Console.current.tellChoice(details)
      let writer = LogWriter(.current, details, isOneLaunch: command.launch != nil)
      try await api.logs(
        details.record.identifier, number: details.record.number, shard: shard, launch: command.launch,
        follows: command.follow
      ) { launch, bytes in writer.write(launch, bytes) }
      writer.finish()
    }
  }

  private func check(_ details: RequestDetails) throws {
    guard let launch, !details.launches.contains(where: { $0.launch.number == launch }) else { return }
    let had = counted(details.launches.count, "launch", plural: "launches")
    throw CommandFailure(.notFound, "\(details.record.name) has no launch \(launch): it had \(had)")
  }
}

/// Writes the output of launches as it arrives. When the output of another launch begins, a line on standard error
/// names that launch.
private final class LogWriter: Sendable {
  private let console: Console
  private let details: RequestDetails
  private let hasHeaders: Bool
  private let last = Mutex<Int?>(nil)

  init(_ console: Console, _ details: RequestDetails, isOneLaunch: Bool) {
    self.console = console
    self.details = details
    hasHeaders = !isOneLaunch && details.launches.count > 1
  }

  func write(_ launch: Int, _ bytes: [UInt8]) {
    let before = last.withLock { last in
      defer { last = launch }
      return last
    }
    if before != launch, hasHeaders || before != nil { console.note(header(launch)) }
    console.environment.write(.output, bytes)
  }

  func finish() {
    guard last.withLock({ $0 }) == nil else { return }
    let earlier = details.earlierOutput.map {
      "; request \($0) has: baton logs \(RequestName(identifier: details.record.identifier, number: $0).arguments)"
    }
    console.note("\(details.record.name) has written nothing" + (earlier ?? ""))
  }

  private func header(_ launch: Int) -> String {
    let host = details.launches.first { $0.launch.number == launch }?.host
    return "==> launch \(launch)" + (host.map { " on \($0.rawValue.onOneLine)" } ?? "") + " <=="
  }
}
