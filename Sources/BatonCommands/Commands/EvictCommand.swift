import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct EvictCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "evict",
    abstract: "Move a job away from a host, and keep it away.",
    discussion: """
      Launches of the job on that host expire with the reason 'evicted': the current batch may finish, and another \
      host goes on after its checkpoint. The job does not start there again, even after restarts, until --allow \
      permits it. Without --host, the job is evicted from the hosts on which it runs now; --allow without --host \
      permits it on every host. A host can be named after its worker has connected once; before that, \
      'permittedIdentifiers' in its worker.yaml keeps a job away. With --wait the command returns when nothing of the \
      job runs on these hosts; Ctrl-C stops the waiting, and the job stays evicted.

      Exit status: 0 if the job is evicted, 124 if the deadline is over and something of it still runs there.

      Examples:
        baton evict com.example.photos.export.42
        baton evict com.example.photos.export.42 --wait --deadline 5m
        baton evict 'com.example.photos.*' --host alpha
        baton evict 'com.example.photos.*' --host alpha --host beta
        baton evict 'com.example.photos.*' --host alpha --allow
      """)

  @Argument(
    help: "The identifier, or the pattern of a definition.", completion: .patterns, transform: Arguments.pattern)
  var identifier: IdentifierPattern

  @Option(
    help: ArgumentHelp("This host, as 'baton hosts' has it. May be given several times.", valueName: "name"),
    completion: .hosts)
  var host: [String] = []

  @Flag(help: "Let it run there again.") var allow = false
  @Flag(help: "Wait until nothing of the job runs there.") var wait = false
  @Option(
    help: ArgumentHelp("With --wait: the longest time to wait, such as 5m. Default: no limit.", valueName: "duration"),
    transform: TimeArgument.duration)
  var deadline: Duration?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func validate() throws {
    if allow, wait { throw ValidationError("--allow stops nothing, so there is nothing to wait for.") }
    if deadline != nil, !wait { throw ValidationError("--deadline says how long --wait waits: give both.") }
  }

  func run() async throws {
    let (pattern, named, isEvicted) = (identifier, host.map { HostName($0) }, !allow)
    let hosts = try await client.connect { try await $0.setEvicted(pattern, from: named, isEvicted) }
    Console.current.emit(options, list: hosts.map { JSONValue(evicted: pattern, from: $0, isEvicted) }) {
      hosts.map(line)
    }
    if wait { try await waitUntilGone(from: hosts) }
  }

  private func waitUntilGone(from hosts: [HostName]) async throws {
    let (pattern, client) = (identifier, client)
    try await racing(
      timeout: deadline, what: "something of \(identifier) still runs there", interruption: Self.leave
    ) {
      try await client.connect { api in
        for host in hosts {
          let filter = RequestFilter(states: [.running], pattern: pattern, host: host)
          while try await !api.requests(filter, after: nil, limit: 1).isEmpty {
            try await CommandEnvironment.current.sleep(.seconds(1))
          }
        }
      }
    }
    if options.output.isTable, !options.quiet { Console.current.output("\(identifier): runs on none of these hosts") }
  }

  @Sendable private static func leave() -> String { "the job stays evicted" }

  private func line(_ host: HostName) -> String {
    "\(identifier): "
      + (allow ? "may run on \(host.rawValue.onOneLine) again" : "evicted from \(host.rawValue.onOneLine)")
  }
}
