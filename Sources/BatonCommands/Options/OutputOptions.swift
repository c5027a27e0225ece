import ArgumentParser

/// How data is written.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
  case table, json, jsonl
}

struct OutputOptions: ParsableArguments, Sendable {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "table for people; json (a list is one array) or jsonl (one object per line) for scripts.", valueName: "format"))
  var output: OutputFormat = .table
}

extension Console {
  /// One object, or in a table what `table` says.
  func emit(_ format: OutputFormat, _ object: @autoclosure () -> JSONValue, table: () -> [String]) {
    switch format {
    case .table: lines(table())
    case .json: output(object().indented)
    case .jsonl: output(object().compact)
    }
  }

  /// A list: one array, or one object per line.
  func emit(_ format: OutputFormat, list: @autoclosure () -> [JSONValue], table: () -> [String]) {
    switch format {
    case .table: lines(table())
    case .json: output(JSONValue.array(list()).indented)
    case .jsonl: lines(list().map(\.compact))
    }
  }

  func lines(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    output(lines.joined(separator: "\n"))
  }
}
