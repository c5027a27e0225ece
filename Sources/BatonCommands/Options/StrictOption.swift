import ArgumentParser

struct StrictOption: ParsableArguments, Sendable {
  @Flag(
    name: .customLong("strict"),
    help: "Treat every warning as an error, for example a value that looks like a secret.")
  var isStrict = false
}
