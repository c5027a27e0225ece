import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore

struct ExplainCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Say why a request does not run: every obstacle on every host.",
    discussion: """
      Exit status: 0 if it runs or succeeded, 1 if it failed or was cancelled, 2 if it waits, 4 if no known host can \
      ever take it as the fleet is configured.

      Examples:
        baton explain com.example.report
        baton explain com.example.report -o json | jq -r '.obstacles[].code'
      """)

  @OptionGroup var request: RequestArgument
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let request = request
    let explanation = try await client.connect { try await $0.explain(request.identifier, number: request.request) }
    console.emit(options.output, JSONValue(explanation)) { explanation.lines(console) }
    guard explanation.status == .done else { throw CommandFailure(explanation.status) }
  }
}

extension Explanation {
  var status: ExitStatus {
    switch verdict {
    case .running: .done
    case .ended: record.state == .succeeded ? .done : .failed
    case .waiting: .waiting
    case .impossible: .refused
    }
  }

  fileprivate func lines(_ console: Console) -> [String] {
    let style = console.style(of: .output)
    let headline = style.bold("\(record.name):") + " " + sentence(at: console.environment.now())
    guard !lines.isEmpty else { return [headline] }
    let rows = lines.map { line in
      [
        Cell(line.host?.rawValue ?? "-"), Cell(line.code), Cell(line.text, line.isPermanent ? .red : nil),
        Cell(line.remedy),
      ]
    }
    return [headline, ""]
      + TablePrinter.lines(
        [.init("HOST"), .init("OBSTACLE", rank: 1), .init("WHAT"), .init("REMEDY")], rows, style: style,
        width: console.outputColumns)
  }

  private func sentence(at now: Timestamp) -> String {
    switch verdict {
    case .running, .ended, .waiting: record.standing(at: now)
    case .impossible: "\(record.state.rawValue); no known host can ever take it as the fleet is configured"
    }
  }
}

extension JSONValue {
  init(_ explanation: Explanation) {
    self = [
      "identifier": JSONValue(explanation.record.identifier.rawValue),
      "request": JSONValue(explanation.record.number),
      "state": JSONValue(explanation.record.state.rawValue),
      "verdict": JSONValue(explanation.verdict.rawValue),
      "eligibleAt": JSONValue(explanation.record.eligibleAt),
      "obstacles": .array(explanation.lines.map { JSONValue($0) }),
    ]
  }

  private init(_ line: Explanation.Line) {
    self = [
      "host": JSONValue(line.host?.rawValue), "code": JSONValue(line.code), "text": JSONValue(line.text),
      "remedy": JSONValue(line.remedy), "permanent": .bool(line.isPermanent),
    ]
  }
}
