import ArgumentParser

/// The format in which a command writes data.
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
  /// Writes one object as JSON, or the lines of `table` in the format `table`.
  func emit(_ format: OutputFormat, _ object: @autoclosure () -> JSONValue, table: () -> [String]) {
    switch format {
    case .table: lines(table())
    case .json: output(object().indented)
    case .jsonl: output(object().compact)
    }
  }

  /// Writes a list as one JSON array or as one JSON object for each line, or the lines of `table` in the
  /// format `table`.
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
