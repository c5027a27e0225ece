import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel

struct NotificationsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "notifications",
    abstract: "Show the notifications that wait for their receivers, and those that have failed.",
    discussion: """
      'notify' of a job and of coordinator.yaml say who is told of what; 'receivers' in coordinator.yaml says where \
      they are. A notification that its receiver does not take is tried again, with the same id, for 3 days unless \
      notify.giveUpAfter says otherwise. Then it has failed, and is shown here for 7 days. Those that were taken are \
      not kept.

      Examples:
        baton notifications
        baton notifications --receivers
        baton notifications -o jsonl | jq -r 'select(.state == "failed") | .error'
      """)

  @Flag(help: "Show the receivers that coordinator.yaml lists instead.") var receivers = false

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let reports = try await client.connect { try await $0.notifications() }
    if receivers {
      return console.emit(options.output, list: reports.receivers.map { JSONValue($0) }) {
        table(of: reports.receivers, console)
      }
    }
    let all = reports.failed + reports.waiting
    console.emit(options.output, list: all.map { JSONValue($0) }) { table(of: all, console) }
    let (waiting, failed) = (
      reports.waitingCount - reports.waiting.count, reports.failedCount - reports.failed.count
    )
    if waiting > 0 || failed > 0 {
      console.note(
        "\(waiting) more wait, and \(failed) more have failed: one answer has at most 1000 of each, and 2 MiB")
    }
  }
}

private func table(of reports: [NotificationReport], _ console: Console) -> [String] {
  if reports.isEmpty { console.note("no notification waits, and none has failed") }
  let now = console.environment.now()
  return TablePrinter.lines(
    [
      .init("RECEIVER"), .init("WHAT"), .init("AT", rank: 3), .init("ATTEMPTS", isNumber: true, rank: 2),
      .init("NEXT", rank: 1), .init("ERROR", rank: 4),
    ], reports.map { row($0, now) }, style: console.style(of: .output), width: console.outputColumns)
}

private func row(_ report: NotificationReport, _ now: Timestamp) -> [Cell] {
  let next = report.nextAt.map { Timestamp(nanoseconds: $0) }
  return [
    Cell(report.receiver.rawValue), Cell(report.facts.subject.onOneLine), Cell(report.facts.at.onOneLine),
    Cell("\(report.attempts)"),
    next.map { Cell($0 <= now ? "now" : "in \(($0 - now).inWords)", report.attempts > 0 ? .yellow : nil) }
      ?? Cell("failed", .red),
    Cell(report.error?.onOneLine ?? "-"),
  ]
}

private func table(of receivers: [ReceiverReport], _ console: Console) -> [String] {
  if receivers.isEmpty { console.note("there are no receivers: 'receivers' in coordinator.yaml lists them") }
  return TablePrinter.lines(
    [.init("RECEIVER"), .init("KIND"), .init("PLACE", rank: 1)],
    receivers.map { [Cell($0.name.rawValue), Cell($0.kind.rawValue), Cell($0.place.onOneLine)] },
    style: console.style(of: .output), width: console.outputColumns)
}

struct NotifyCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "notify",
    abstract: "Try a receiver of notifications.",
    discussion: """
      Examples:
        baton notify test ops
      """,
    subcommands: [NotifyTestCommand.self])
}

struct NotifyTestCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Send a test to a receiver now, and print its answer.",
    discussion: """
      The coordinator sends a notification of the event 'test' as it sends others: signed, with the same limits of \
      time. It is not tried again. The exit status is 1 if the receiver did not take it.

      Examples:
        baton notify test ops
        baton notify test ops -o json
      """)

  @Argument(
    help: "The name of a receiver, as coordinator.yaml and 'baton notifications --receivers' have it.",
    transform: Self.name)
  var receiver: ReceiverName

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let (console, receiver) = (Console.current, receiver)
    let answer = try await client.connect { try await $0.testReceiver(receiver) }
    if answer.isAccepted || !options.output.isTable {
      console.emit(options.output, JSONValue(answer, of: receiver)) {
        ["\(receiver) has taken the test: \(answer.text.onOneLine)"]
      }
    }
    guard !answer.isAccepted else { return }
    throw CommandFailure(.failed, "\(receiver) has not taken the test: \(answer.text.onOneLine)")
  }

  private static func name(_ text: String) throws -> ReceiverName {
    guard let name = ReceiverName(text) else {
      throw ValidationError("The name of a receiver is \(ReceiverName.rule).")
    }
    return name
  }
}
