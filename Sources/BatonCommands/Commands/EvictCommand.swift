import ArgumentParser
import BatonCoordinator
import BatonModel

struct EvictCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "evict",
    abstract: "Move a job away from a host, and keep it away.",
    discussion: """
      Launches of the job on that host expire with the reason 'evicted': the current batch may finish, and another \
      host goes on after its checkpoint. The job does not start there again, even after restarts, until --allow \
      permits it. Without --host, the job is evicted from the hosts on which it runs now; --allow without --host \
      permits it on every host. A host can be named after its worker has connected once; before that, \
      'permittedIdentifiers' in its worker.yaml keeps a job away.

      Examples:
        baton evict com.example.photos.export.42
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
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let (pattern, named, isEvicted) = (identifier, host.map { HostName($0) }, !allow)
    let hosts = try await client.connect { try await $0.setEvicted(pattern, from: named, isEvicted) }
    Console.current.emit(options, list: hosts.map(json)) { hosts.map(line) }
  }

  private func line(_ host: HostName) -> String {
    "\(identifier): "
      + (allow ? "may run on \(host.rawValue.onOneLine) again" : "evicted from \(host.rawValue.onOneLine)")
  }

  private func json(_ host: HostName) -> JSONValue {
    ["identifier": JSONValue(identifier.rawValue), "host": JSONValue(host.rawValue), "evicted": .bool(!allow)]
  }
}
