import ArgumentParser

/// The job files that a command reads.
struct FileArguments: ParsableArguments, Sendable {
  @Argument(
    help: "YAML files, or folders of them, of which sub-folders are not searched; - is standard input.",
    completion: .file(extensions: ["yaml", "yml"]))
  var paths: [String] = []

  @Option(
    name: [.customShort("f"), .customLong("file")],
    help: ArgumentHelp("The same, as an option. May be given several times.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var named: [String] = []

  /// All paths, those that are no options first.
  var all: [String] { paths + named }

  func validate() throws {
    if all.isEmpty { throw ValidationError("Name a job file, a folder of job files, or - for standard input.") }
    if all.count(where: { $0 == "-" }) > 1 { throw ValidationError("Standard input can be read once: give - once.") }
  }
}
