import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonJSON
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
      otherwise of the one that started last; --all-shards prints all, each line behind the number of its shard.

      --timestamps puts before each line when the coordinator took it, by the coordinator's clock, in UTC. A line that \
      came in parts has the time of its first part. Output that an earlier version stored has no time: a '-' stands \
      in its place, and --since does not leave it out.

      Examples:
        baton logs com.example.report
        baton logs com.example.report -f --tail 20
        baton logs com.example.report --since 10m --timestamps
        baton logs com.example.report --request 3 --launch 2
      """)

  @OptionGroup var request: RequestArgument

  @Flag(name: .shortAndLong, help: "Go on with new output until the request has ended.") var follow = false

  @Option(
    help: ArgumentHelp("Of what is there already, only so many lines. Default: all.", valueName: "lines"),
    transform: Arguments.index)
  var tail: Int?

  @Option(
    help: ArgumentHelp(
      "Of what is there already, only what came since then: a duration such as 10m, or a date.", valueName: "time"),
    transform: TimeArgument.since)
  var since: Timestamp?

  @Flag(help: "Write before each line when the coordinator took it.") var timestamps = false

  @Option(help: ArgumentHelp("Only this launch.", valueName: "number"), transform: Arguments.positive)
  var launch: Int?

  @Option(help: ArgumentHelp("The shard, counted from 0.", valueName: "number"), transform: Arguments.index)
  var shard: Int?

  @Flag(help: "The output of every shard.") var allShards = false

  @OptionGroup var client: ClientOptions

  func validate() throws {
    if allShards, shard != nil { throw ValidationError("--shard and --all-shards both say which: give one of them.") }
  }

  func run() async throws {
    let command = self
    try await client.connect { api in
      var details = try await api.details(
        command.request.identifier, number: command.request.request, choosing: .ran)
      let shard = command.shard(of: details)
      if let shard { details.launches.removeAll { $0.shard != shard } }
      try command.check(details)
      if command.shard == nil, let shard { Console.current.note("shard \(shard) of \(details.record.name)") }
      Console.current.tellChoice(details)
      let writer = LogWriter(
        .current, details, isOneLaunch: command.launch != nil, showsTimes: command.timestamps,
        since: command.since)
      try await api.logs(
        details.record.identifier, number: details.record.number, command.selection(shard)
      ) { writer.write($0) }
      if command.tail != 0 { writer.finish() }
    }
  }

  /// The shard to print; nil if every shard is printed, or the request is not divided.
  private func shard(of details: RequestDetails) -> Int? {
    if allShards { return nil }
    return details.record.shards == nil ? shard : shard ?? details.shardOfInterest
  }

  private func selection(_ shard: Int?) -> LogSelection {
    LogSelection(
      shards: allShards ? .all : .one(shard ?? 0), launch: launch, follows: follow, tail: tail, since: since)
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
  private struct State {
    /// The launch of the last piece, and whether its last line is complete.
    var last: (launch: Int, shard: Int?)?
    var isAtLineStart = true
  }

  private let console: Console
  private let details: RequestDetails
  private let hasHeaders: Bool
  private let showsTimes: Bool
  private let since: Timestamp?
  private let state = Mutex(State())

  init(_ console: Console, _ details: RequestDetails, isOneLaunch: Bool, showsTimes: Bool, since: Timestamp?) {
    self.since = since
    self.console = console
    self.details = details
    self.showsTimes = showsTimes
    hasHeaders = !isOneLaunch && details.launches.count > 1
  }

  func write(_ piece: LogPiece) {
    let bytes = state.withLock { state in
      let before = state.last
      let isOther = before.map { $0 != (piece.launch, piece.shard) } ?? true
      state.last = (piece.launch, piece.shard)
      if isOther, piece.shard == nil, hasHeaders || before != nil { console.note(header(piece.launch)) }
      return prefixed(piece, &state, isOther: isOther && before != nil)
    }
    console.environment.write(.output, bytes)
  }

  /// The bytes of the piece; before each line its time and its shard, if they are wanted.
  private func prefixed(_ piece: LogPiece, _ state: inout State, isOther: Bool) -> [UInt8] {
    let prefix =
      (showsTimes ? (piece.takenAt?.utc ?? "-") + " " : "") + (piece.shard.map { "[shard \($0)] " } ?? "")
    guard !prefix.isEmpty else { return piece.bytes }
    // A line that is not complete ends where the output of another launch begins.
    var bytes: [UInt8] = isOther && !state.isAtLineStart ? [UInt8(ascii: "\n")] : []
    if isOther { state.isAtLineStart = true }
    for byte in piece.bytes {
      if state.isAtLineStart { bytes += Array(prefix.utf8) }
      bytes.append(byte)
      state.isAtLineStart = byte == UInt8(ascii: "\n")
    }
    return bytes
  }

  func finish() {
    guard state.withLock({ $0.last == nil }) else { return }
    if let since { return console.note("\(details.record.name) has written nothing since \(since.utc)") }
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
