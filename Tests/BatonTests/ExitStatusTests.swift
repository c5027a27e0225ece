import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Synchronization
import Testing

@testable import BatonCommands

/// Every error has one exit status, and a message on standard error that says what happened and what to do about it.
@Suite struct ExitStatusTests {
  static let errors: [(any Error & Sendable, Int32)] = [
    (OperatorError.notFound("there is no job 'x': look at 'baton list'"), 3),
    (OperatorError.conflict("'x' has unfinished requests: cancel them first"), 4),
    (OperatorError.invalid("the payload is too large"), 64),
    (OperatorError.notPermitted("'com.x' may not be defined here"), 77),
    (OperatorError.refused(.immediateRunIneligible([HostObstacle(host: nil, obstacle: .noHosts)])), 4),
    (OperatorError.refused(.tooManyPending(limit: "pendingLimit", allowed: 10, pending: 10)), 4),
    (OperatorError.refused(.unavailable("it is shutting down; submit again in a moment")), 75),
    (OperatorError.refused(.notPermitted(JobIdentifier(trusted: "x"), nearest: "com.x")), 77),
    (CoordinatorUnreachable("nobody answers at 127.0.0.1:7420: start one with 'baton coordinator'"), 69),
    (CoordinatorUnreachable("the token was not taken: set BATON_TOKEN_FILE", isNotPermitted: true), 77),
    (StoreError(.locked, "The store in /d is in use by process 12; stop that process first."), 75),
    (StoreError(.cannotWrite, "/d: no space left; make room on its disk."), 75),
    (StoreError(.newerVersion, "The database was written by a newer version; update baton."), 78),
    (CommandFailure(.usage, "'x' is not HOST:PORT, such as 127.0.0.1:7420"), 64),
    (CancellationError(), 130),
  ]

  @Test(.contract(5.5), arguments: errors.indices) func `an error has one status, and is told`(index: Int) async {
    let (error, status) = Self.errors[index]
    let world = World { $0.errors = [error] }
    let run = await world.baton("hosts")
    #expect(run.status == status)
    #expect(run.output.isEmpty)
    #expect(run.error.hasSuffix("\n"))
    #expect(run.error.hasPrefix(status == 130 ? "interrupted" : "error: "))
    #expect(CommandFailure.description(of: error).isEmpty || run.error.contains(CommandFailure.description(of: error)))
  }

  @Test(arguments: [
    ["list", "--no-such-flag"], ["nonsense"], ["shwo", "com.example.report"], ["help", "nope"], ["help", "shwo"],
    ["help", "simulate", "lanch"], ["help", "list", "nope"], ["simulate", "lanch"], ["show"],
    ["show", "com.example.*"], ["show", "a..b"],
    ["show", "a", "--request", "0"], ["list", "--state", "done"], ["list", "-o", "xml"], ["submit"],
    ["submit", "a", "-f", "b.yaml"], ["submit", "a", "--payload", "{"], ["submit", "a", "--payload", "@/no/such/file"],
    ["submit", "a", "--earliest", "soon"], ["submit", "a", "--earliest", "5 minutes"],
    ["submit", "a", "--priority", "high"],
    ["cancel"], ["cancel", "a", "--all"], ["cancel", "--yes"], ["cancel", "--all"],
    ["wait", "a", "--timeout", "10"],
    ["wait", "a", "--timeout", "2026-03-01T00:00:00Z"],
    ["watch", "--request", "2"], ["run"], ["run", "x.yaml", "--slots", "0"], ["coordinator", "--lease", "1ms"],
    ["drain"], ["remove", "a.*.b"], ["poke"], ["poke", "a.*"], ["poke", "a", "--priority", "7"],
    ["poke", "a", "--id", ""], ["evict"], ["evict", "a.*.b"], ["simulate", "launch"], ["simulate", "nonsense"],
    ["simulate", "expire", "a", "--reason", "batterylow"], ["simulate", "expire", "a", "--reason", "boredom"],
    ["simulate", "transfer"], ["simulate", "transfer", "42/0"], ["simulate", "transfer", "42", "--fail"],
    ["simulate", "transfer", "42/0", "--fail", "--interrupt"],
    ["simulate", "conditions"], ["simulate", "conditions", "a"], ["simulate", "conditions", "a", "--for", "5m"],
    ["simulate", "conditions", "a", "--end", "--idle", "true"], ["simulate", "conditions", "a", "--battery", "101"],
    ["simulate", "conditions", "a", "--thermal", "hot"], ["simulate", "conditions", "a", "--idle", "yes"],
    ["simulate", "conditions", "a", "--power", "external", "--for", "25h"], ["store", "backup"],
  ])
  func `a usage error has status 64 and calls no coordinator`(arguments: [String]) async throws {
    let world = World(RequestRecord.all)
    let run = await world.baton(arguments)
    #expect(run.status == 64)
    #expect(run.output.isEmpty)
    #expect(world.backend.targets.withLock { $0.isEmpty })
    try Golden.expect(run.transcript, is: "usage-" + arguments.golden)
  }

  @Test func `a host that nobody knows is not found`() async {
    let run = await World { $0.hosts = [.alpha, .beta] }.baton("hosts", "gamma")
    #expect(run.status == 3)
    #expect(run.error == "error: there is no host 'gamma'; known: alpha, beta\n")
  }

  @Test func `nothing to cancel is not found, and fine for all`() async {
    let one = await World().baton("cancel", "com.example.report")
    #expect(one.status == 3)
    #expect(
      one.error
        == "error: nothing to cancel: 'com.example.report' has no unfinished request; "
        + "look at 'baton show com.example.report'\n"
    )
    let all = await World().baton("cancel", "--all", "--yes")
    #expect(all.status == 0)
    #expect(all.error == "nothing to cancel: all requests have ended\n")
  }

  @Test(arguments: [
    (["shwo"], "error: 'baton' has no command 'shwo', did you mean 'show'? 'baton --help' lists the commands\n"),
    (["help", "exlpain"], "error: 'baton' has no command 'exlpain', did you mean 'explain'? "),
    (["help", "nope"], "error: 'baton' has no command 'nope': 'baton --help' lists the commands\n"),
    (["simulate", "lanch"], "error: 'baton simulate' has no command 'lanch', did you mean 'launch'? "),
    (["help", "list", "nope"], "error: 'baton list' has no command 'nope'"),
  ])
  func `an unknown command is 64, with the nearest one`(arguments: [String], error: String) async {
    let run = await World().baton(arguments)
    #expect(run.status == 64)
    #expect(run.output.isEmpty)
    #expect(run.error.hasPrefix(error), "\(run.error)")
  }

  @Test(arguments: [
    (
      ["list", "--stat", "failed"],
      "'baton list' has no option '--stat', did you mean '--state'? 'baton list --help' lists the options"
    ),
    // The parser alone would name what is missing, and the option only the next time.
    (
      ["cancel", "--al"],
      "'baton cancel' has no option '--al', did you mean '--all'? 'baton cancel --help' lists the options"
    ),
    (["apply", "--refreez"], "'baton apply' has no option '--refreez', did you mean '--refreeze'? "),
    (["set", "a", "spread=2", "--requst", "3"], "'baton set' has no option '--requst', did you mean '--request'? "),
    (
      ["simulate", "expire", "--reson=y"], "'baton simulate expire' has no option '--reson', did you mean '--reason'? "
    ),
    (["show", "--zzzzzzzz"], "'baton show' has no option '--zzzzzzzz': 'baton show --help' lists the options"),
  ])
  func `an unknown option is one error, with the nearest one`(arguments: [String], error: String) async {
    let run = await World().baton(arguments)
    #expect(run.status == 64)
    #expect(run.error.hasPrefix("error: \(error)"), "\(run.error)")
    #expect(run.error.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    ["help"], ["help", "show"], ["help", "simulate"], ["help", "simulate", "launch"], ["help", "help"],
  ])
  func `help for a known command succeeds`(arguments: [String]) async {
    let run = await World().baton(arguments)
    #expect(run.status == 0, "\(run.error)")
    #expect(run.output.contains("USAGE: baton"))
  }

  @Test func `where to connect comes from the flag, else the environment, else the default`() async {
    var world = World()
    world.variables["BATON_TOKEN_FILE"] = "/run/token"
    _ = await world.baton("list")
    world.variables["BATON_COORDINATOR"] = "127.0.0.1:9000"
    _ = await world.baton("list")
    _ = await world.baton("list", "--coordinator", "127.0.0.1:9001")
    world.variables["BATON_FLEET"] = "home"
    _ = await world.baton("list")
    _ = await world.baton("list", "--fleet", "work")
    _ = await world.baton("list", "--coordinator", "127.0.0.1:9001")
    let expected: [(String, ConnectionTarget.Fleet)] = [
      ("127.0.0.1:7420", .preferred), ("127.0.0.1:9000", .none), ("127.0.0.1:9001", .none),
      ("127.0.0.1:9000", .named("home")), ("127.0.0.1:9000", .named("work")), ("127.0.0.1:9001", .none),
    ]
    #expect(
      world.backend.targets.withLock { $0 }
        == expected.map { ConnectionTarget(endpoint: $0.0, tokenFile: "/run/token", fleet: $0.1) })
    let both = await world.baton("list", "--coordinator", "127.0.0.1:9001", "--fleet", "work")
    #expect(both.status == 64)
  }
}

extension CommandFailure {
  /// The error's own text.
  fileprivate static func description(of error: any Error) -> String {
    switch error {
    case let error as OperatorError: error.description
    case let error as CoordinatorUnreachable: error.message
    case let error as StoreError: error.message
    default: ""
    }
  }
}
