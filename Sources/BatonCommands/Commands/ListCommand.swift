import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore

struct ListCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List requests, the oldest first.",
    discussion: """
      AGE is counted from submission; WHEN says when a request becomes eligible, since when it runs, or when it ended. \
      With --state pending (scheduled and ready), DETAIL shows the first obstacle of each request; 'baton explain' \
      shows all obstacles.

      Examples:
        baton list
        baton list --state pending
        baton list --state running --host alpha
        baton list 'com.example.photos.*' --state failed
        baton list --state failed -o jsonl | jq -r .identifier
      """)

  @Argument(help: "Only requests of this identifier or pattern.", transform: Arguments.pattern)
  var pattern: IdentifierPattern?

  @Option(
    help: ArgumentHelp(
      "Only requests in this state: \(Arguments.stateNames.joined(separator: ", ")). May be given several times.",
      valueName: "state"),
    completion: .list(Arguments.stateNames), transform: Arguments.states)
  var state: [Set<RequestState>] = []

  @Option(
    help: ArgumentHelp(
      "Only requests that run on this host, or ran there last. A request runs where a shard of it runs.",
      valueName: "name"))
  var host: String?

  @Option(
    help: ArgumentHelp("The most requests to list. Default: all.", valueName: "number"), transform: Arguments.positive)
  var limit: Int?

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let listing = RequestListing(.current, format: options.output)
    let filter = RequestFilter(
      states: state.reduce(into: []) { $0.formUnion($1) }, pattern: pattern, host: host.map { HostName($0) })
    let limit = limit ?? .max
    try await client.connect { api in
      try await Self.write(filter, limit, api, listing)
    }
  }

  private static func write(
    _ filter: RequestFilter, _ limit: Int, _ api: any OperatorAPI, _ listing: RequestListing
  ) async throws {
    var listing = listing
    var lookup = ObstacleLookup()
    let looksUp = !filter.states.isEmpty && filter.states.allSatisfy(\.isPending)
    var after: RequestID?
    while listing.count < limit {
      let size = min(RequestListing.pageSize, limit - listing.count)
      let page = try await api.requests(filter, after: after, limit: size)
      listing.page(page, obstacles: looksUp ? try await lookup.obstacles(of: page, api) : [:])
      guard page.count == size, let last = page.last else { break }
      after = last.id
    }
    listing.finish()
  }
}
