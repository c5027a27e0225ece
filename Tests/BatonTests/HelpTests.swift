import Testing

@Suite struct HelpTests {
  static let commands = [
    "run", "up", "coordinator", "validate", "plan", "apply", "definitions", "revert", "queue", "prune", "remove",
    "schema", "submit", "start", "poke", "completion",
    "list", "status", "console", "show", "watch",
    "wait", "logs", "explain", "trace", "cancel", "retry", "set", "limits", "schedules", "coordinators", "namespaces",
    "transfers", "notifications", "notify", "hosts",
    "fleet",
    "drain", "undrain",
    "evict", "pause",
    "resume", "login", "logout", "whoami",
    "store", "simulate", "doctor",
  ]

  @Test func `the help of baton names every command`() async throws {
    let run = await World().baton("--help")
    #expect(run.status == 0)
    #expect(run.error.isEmpty)
    for command in Self.commands { #expect(run.output.contains("\n  \(command) ")) }
    try Golden.expect(run.output, is: "help")
  }

  static let simulations = [
    "simulate launch", "simulate expire", "simulate conditions", "simulate transfer", "store backup", "store move",
    "notify test", "host invite",
    "host revoke",
    "host waiting", "host approve", "host forget", "fleet show", "fleet roots", "fleet rotate",
    "credential create", "credential list", "credential revoke", "audit list", "audit verify",
    "schedules list", "schedules pause", "schedules resume", "schedules backfill",
  ]

  @Test(arguments: commands + simulations) func `every command has help with examples`(command: String) async throws {
    let run = await World().baton(command.split(separator: " ").map(String.init) + ["--help"])
    #expect(run.status == 0)
    #expect(run.output.contains("Examples:\n  baton \(command)"))
    let examples = run.output.split(separator: "Examples:\n")[1].split(separator: "\n\n")[0].split(separator: "\n")
    #expect(examples.allSatisfy { $0.hasPrefix("  ") || $0.hasPrefix("and ") }, "an example is wrapped")
    try Golden.expect(run.output, is: "help-\(command.replacing(" ", with: "-"))")
  }

  @Test func `simulate alone is a question for its help`() async {
    let run = await World().baton("simulate")
    #expect(run.status == 0)
    #expect(run.output.contains("USAGE: baton simulate <subcommand>"))
  }

  @Test func `without a command, the help is shown`() async {
    let run = await World().baton()
    #expect(run.status == 0)
    #expect(run.output.contains("USAGE: baton"))
  }

  @Test func `the version is one line`() async {
    let run = await World().baton("--version")
    #expect(run.status == 0)
    #expect(run.output == "baton 0.1.0\n")
  }

  @Test(arguments: ["bash", "zsh", "fish"]) func `completions are generated`(shell: String) async {
    let run = await World().baton("--generate-completion-script", shell)
    #expect(run.status == 0)
    #expect(run.output.contains("undrain"))
  }
}
