import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct ListCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List requests, the newest first.",
    discussion: """
      Without --all, --state, --last or --since the list has the requests that have not ended. The newest request is the \
      one that was submitted last; in a list of ended requests alone, it is the one that ended last.

      AGE is counted from submission; WHEN says when a request becomes eligible, since when it runs, or when it ended. \
      '-o wide' has these times as dates too, and cuts nothing. Of a request that is ready, DETAIL shows the first \
      obstacle; 'baton explain' shows all obstacles.

      Examples:
        baton list
        baton list --last 10
        baton list --all -o wide
        baton list --state failed --since 12h
        baton list --state ready --sort oldest --limit 10
        baton list --state running --host alpha
        baton list --by ana --kind processing
        baton list 'com.example.photos.*' --all
        baton list --state failed -o jsonl | jq -r .identifier
      """)

  @Argument(
    help: "Only requests of this identifier or pattern.", completion: .patterns, transform: Arguments.pattern)
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
      valueName: "name"), completion: .hosts)
  var host: String?

  @Option(
    help: ArgumentHelp("Only requests of this kind: refresh, processing or continued.", valueName: "kind"),
    completion: .list(JobKind.allCases.map(\.rawValue)), transform: Arguments.kind)
  var kind: JobKind?

  @Option(help: ArgumentHelp("Only requests that this principal has submitted.", valueName: "name")) var by: String?

  @Option(
    help: ArgumentHelp("Only requests of the flow with this number, also those that have ended.", valueName: "number"),
    transform: Arguments.positive)
  var flow: Int?

  @Flag(help: "Also the requests that have ended.") var all = false

  @Option(
    help: ArgumentHelp(
      "Only requests that were submitted since then, also ended ones; with only ended states, those that ended since "
        + "then. A duration such as 12h, or a date.", valueName: "time"), transform: TimeArgument.since)
  var since: Timestamp?

  @Option(
    help: ArgumentHelp("The newest requests, also ended ones, so many.", valueName: "number"),
    transform: Arguments.positive)
  var last: Int?

  @Option(
    help: ArgumentHelp("Which request is the first: newest or oldest, by submission.", valueName: "order"))
  var sort = ListSort.newest

  @Option(
    help: ArgumentHelp("The most requests to list. Default: all.", valueName: "number"), transform: Arguments.positive)
  var limit: Int?

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    if last != nil, limit != nil { throw ValidationError("--last and --limit both say how many: give one of them.") }
    if sort == .oldest, last != nil { throw ValidationError("--last lists the newest requests: leave out --sort.") }
    if sort == .oldest, since != nil { throw ValidationError("--since lists the newest first: leave out --sort.") }
    if all, !state.isEmpty { throw ValidationError("--all and --state both say which states: give one of them.") }
  }

  func run() async throws {
    let listing = RequestListing(.current, format: options.output)
    let request = query
    try await client.connect { api in
      try await Self.write(request, api, listing)
    }
  }

  private var query: ListQuery {
    let named: Set<RequestState> = state.reduce(into: []) { $0.formUnion($1) }
    let isWhole = all || last != nil || since != nil || flow != nil
    let states = named.isEmpty && !isWhole ? Set(RequestState.allCases.filter { !$0.isEnded }) : named
    let filter = RequestFilter(
      states: states, pattern: pattern, host: host.map { HostName($0) }, kind: kind, submitter: by,
      flow: flow.map { RequestID(Int64($0)) }, isNewestFirst: sort == .newest)
    return ListQuery(filter: filter, since: since, limit: last ?? limit ?? .max, hidesEnded: named.isEmpty && !isWhole)
  }

  private static func write(
    _ query: ListQuery, _ api: any OperatorAPI, _ listing: RequestListing
  ) async throws {
    var listing = listing
    var lookup = ObstacleLookup()
    var after: RequestID?
    while listing.count < query.limit {
      let size = min(RequestListing.pageSize, query.limit - listing.count)
      let page = try await api.page(of: query.filter, after: after, limit: size)
        .since(query.since, in: query.filter.order)
      listing.page(page.records, obstacles: try await lookup.obstacles(of: page.records, api))
      guard let next = page.next else { break }
      after = next
    }
    listing.finish(nothing: query.hidesEnded ? "no unfinished requests; --all lists those that have ended" : nil)
  }
}

/// Which request a list begins with.
enum ListSort: String, ExpressibleByArgument, CaseIterable, Sendable { case newest, oldest }

/// What a person asked to have listed.
private struct ListQuery: Sendable {
  var filter: RequestFilter
  var since: Timestamp?
  var limit: Int
  /// Whether the list leaves out ended requests because nothing was said about them.
  var hidesEnded: Bool
}
