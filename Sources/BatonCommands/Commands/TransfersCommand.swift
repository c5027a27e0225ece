import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel

struct TransfersCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "transfers",
    abstract: "Show the files that hosts fetch and send for jobs.",
    discussion: """
      A transfer runs outside of its job, and outlives the launches of the job. When all transfers of a group have \
      ended, a launch gets their events. The list has the transfers of requests that have not ended. Progress and rate \
      are those that the host has told the coordinator that answers.

      Examples:
        baton transfers
        baton transfers alpha
        baton transfers -o jsonl | jq -r 'select(.state == "failed") | .error'
        baton transfers --cancel 42/0
      """)

  @Argument(help: "Only the transfers of this host, as 'baton hosts' has it.", completion: .hosts)
  var host: String?

  @Option(
    help: ArgumentHelp(
      "End this transfer, as the first column names it. Its job is told that it was cancelled. May be given several times.",
      valueName: "transfer"), transform: Self.key)
  var cancel: [TransferKey] = []

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let (console, cancel) = (Console.current, cancel)
    if !cancel.isEmpty {
      try await client.connect { api in for key in cancel { try await api.cancelTransfer(key) } }
      console.emit(
        options.output,
        list: cancel.map { ["transfer": JSONValue("\($0)"), "cancelled": .bool(true)] as JSONValue }
      ) { cancel.map { "\($0): its host is told to end it, at once or when it is back" } }
      return
    }
    let name = host.map { HostName($0) }
    let found = try await client.connect { try await $0.transfers(on: name) }
    console.emit(options.output, list: found.transfers.map { JSONValue($0) }) { table(found.transfers, console) }
    if found.hasMore {
      console.note("there are more than \(found.transfers.count) transfers: name a host to see those of one host")
    }
  }

  static func key(_ text: String) throws -> TransferKey {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let request = Int64(parts[0]), let index = Int(parts[1]), request > 0, index >= 0 else {
      throw ValidationError("A transfer is named as 'baton transfers' shows it, such as 42/0.")
    }
    return TransferKey(request: RequestID(request), index: index)
  }
}

extension FleetTransfer {
  /// The state in words for people.
  fileprivate var words: String {
    if isCancelling, status?.endedAt == nil { return "is being cancelled" }
    switch status?.state {
    case nil: return "its host has not begun it, or is away"
    case .waiting(let wait, _): return wait.words
    case .running: return "running"
    case .ended(.done): return told.map { "done, told to launch \($0)" } ?? "done"
    case .ended(.failed(let failure)): return failure.text
    case .ended(.cancelled): return "cancelled"
    }
  }

  fileprivate var colour: Style.Colour? {
    switch status?.state {
    case .ended(.failed): .red
    case .waiting, .ended(.cancelled): .yellow
    case .running, .ended(.done), nil: nil
    }
  }

  /// The address without what may be a signature in its query.

  fileprivate var progress: String {
    guard let status else { return "-" }
    guard let total = status.total else { return status.bytes == 0 ? "-" : bytesInWords(status.bytes) }
    let percent = total == 0 ? 100 : Int(Double(status.bytes) / Double(total) * 100)
    return "\(bytesInWords(status.bytes)) of \(bytesInWords(total)) (\(min(100, percent)) %)"
  }
}

extension TransferWait {
  fileprivate var words: String {
    switch self {
    case .earliestBeginDate: "its earliest begin date has not come"
    case .turn: "others of the host go first"
    case .network: "waits for a network"
    case .unmeteredNetwork: "waits for an unmetered network"
    case .unconstrainedNetwork: "waits for a network that is not constrained"
    case .externalPower: "waits for external power"
    case .idle: "waits for an idle host"
    case .owner: "the host's owner paused it, or it is outside of the owner's hours"
    case .quota: "the host's quota of transfers is used up"
    case .room: "the host's disk has too little room"
    case .retry: "is tried again soon"
    }
  }
}

/// A number of bytes with at most four digits, such as `12.3 MB`.
private func bytesInWords(_ bytes: Int64) -> String {
  var (value, unit) = (Double(bytes), 0)
  let units = ["B", "kB", "MB", "GB", "TB", "PB"]
  while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
  if unit == 0 { return "\(bytes) B" }
  let tenths = Int((value * 10).rounded())
  return value < 99.95 ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(Int(value.rounded())) \(units[unit])"
}

private func table(_ transfers: [FleetTransfer], _ console: Console) -> [String] {
  if transfers.isEmpty { console.note("no job that has not ended has transfers") }
  return TablePrinter.lines(
    [
      .init("TRANSFER"), .init("JOB"), .init("HOST", rank: 2), .init("URL", rank: 4), .init("PROGRESS", rank: 1),
      .init("RATE", rank: 3), .init("LEFT", rank: 3), .init("STATE"),
    ], transfers.map(row), style: console.style(of: .output), width: console.outputColumns)
}

private func row(_ transfer: FleetTransfer) -> [Cell] {
  let rate = transfer.status?.bytesPerSecond
  return [
    Cell("\(transfer.key)"), Cell("\(transfer.identifier)"), Cell(transfer.host), Cell(transfer.address),
    Cell(transfer.progress), Cell(rate.map { bytesInWords($0) + "/s" } ?? "-"),
    Cell(transfer.timeLeft.map(\.inWords) ?? "-"), Cell(transfer.words, transfer.colour),
  ]
}
