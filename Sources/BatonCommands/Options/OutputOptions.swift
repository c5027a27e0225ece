import ArgumentParser
import BatonCoordinator
import BatonJSON

/// The format in which a command writes data.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
  case table, wide, name, yaml, json, jsonl

  /// Whether the format is for people, and not for programs.
  var isTable: Bool {
    switch self {
    case .table, .wide: true
    case .name, .yaml, .json, .jsonl: false
    }
  }
}

struct OutputOptions: ParsableArguments, Sendable {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "table for people, or wide, of which nothing is cut; name for xargs; json (a list is one array), jsonl (one "
        + "object per line) or yaml for scripts.", valueName: "format"))
  var output: OutputFormat = .table
}

/// The options of a command that changes something and says what it has changed.
struct ChangeOptions: ParsableArguments, Sendable {
  @OptionGroup var options: OutputOptions
  @Flag(name: .shortAndLong, help: "Write nothing about what was done; only warnings, errors and what was asked for.")
  var quiet = false

  var output: OutputFormat { options.output }

  func validate() throws {
    if quiet, output != .table { throw ValidationError("--quiet writes nothing, and --output says how: give one.") }
  }
}

extension Console {
  /// Writes what was changed, unless the person wants to hear nothing.
  func emit(_ options: ChangeOptions, _ object: @autoclosure () -> JSONValue, table: () -> [String]) {
    if !options.quiet { emit(options.output, object(), table: table) }
  }

  func emit(_ options: ChangeOptions, list: @autoclosure () -> [JSONValue], table: () -> [String]) {
    if !options.quiet { emit(options.output, list: list(), table: table) }
  }

  /// Writes one object as JSON or YAML or its name, or the lines of `table` in the formats for people.
  func emit(_ format: OutputFormat, _ object: @autoclosure () -> JSONValue, table: () -> [String]) {
    switch format {
    case .table: lines(table())
    case .wide: lines(Console.$isWide.withValue(true, operation: table))
    case .name: lines(object().names)
    case .yaml: write(object().yaml, to: .output)
    case .json: output(object().indented)
    case .jsonl: output(object().compact)
    }
  }

  /// Writes a list as one JSON array, as one JSON object for each line, as YAML, or as the names of its elements, or
  /// the lines of `table` in the formats for people.
  func emit(_ format: OutputFormat, list: @autoclosure () -> [JSONValue], table: () -> [String]) {
    switch format {
    case .table: lines(table())
    case .wide: lines(Console.$isWide.withValue(true, operation: table))
    case .name: lines(list().flatMap(\.names).unique)
    case .yaml: write(JSONValue.array(list()).yaml, to: .output)
    case .json: output(JSONValue.array(list()).indented)
    case .jsonl: lines(list().map(\.compact))
    }
  }

  func lines(_ lines: [String], to stream: CommandEnvironment.Stream = .output) {
    guard !lines.isEmpty else { return }
    write(lines.joined(separator: "\n") + "\n", to: stream)
  }
}
