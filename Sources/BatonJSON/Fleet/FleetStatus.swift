package import BatonCoordinator
package import BatonModel
import BatonStore

/// What a person looks at first.
package struct FleetStatus: Sendable {
  /// The most requests of a kind that are named.
  private static let named = 5
  /// The most hosts that are named.
  private static let namedHosts = 3
  /// The most classes with an earlier definition that are looked at.
  private static let mostEarlier = 10
  /// For how long a failed request is news.
  private static let news = Duration.seconds(86_400)
  /// A request that has been ready for so long may need a person.
  private static let longWait = Duration.seconds(600)

  package var standing: FleetStanding
  package var coordinators: [CoordinatorReport]
  package var hosts: HostSummary
  /// The first hosts that are gone.
  private var goneHosts: [HostName] = []
  package var counts: [RequestState: Int] = [:]
  private var failed: [RequestRecord] = []
  private var oldestReady: RequestRecord?
  /// What waits for a host, in the order of its starts.
  package let queue: QueueReport
  /// The definitions with ready requests that no host can run, also after its conditions have changed.
  private var hostless: [(report: DefinitionReport, ready: Int)] = []
  /// The same of classes whose requests keep an earlier definition.
  private var hostlessEarlier: [QueueReport.Class] = []
  private let now: Timestamp

  package init(asking api: any OperatorAPI, at now: Timestamp) async throws {
    self.now = now
    standing = try await api.standing()
    coordinators = try await api.coordinators().filter { !$0.isEnded }
    hosts = try await api.hosts(HostFilter(), after: nil, limit: 1).summary ?? HostSummary()
    if hosts.states[.gone] ?? 0 > 0 {
      let page = try await api.hosts(HostFilter(states: [.gone]), after: nil, limit: Self.namedHosts)
      goneHosts = page.hosts.map(\.name)
    }
    let definitions = try await api.definitions(named: [])
    for definition in definitions { counts.merge(definition.counts, uniquingKeysWith: +) }
    queue = try await api.queue()
    var own: [(report: DefinitionReport, ready: Int)] = []
    let earlier = queue.classes.filter(\.keepsEarlier)
    for definition in definitions {
      let kept = earlier.filter { $0.pattern == definition.definition.pattern }.reduce(0) { $0 + $1.ready }
      let ready = (definition.counts[.ready] ?? 0) - kept
      if ready > 0 { own.append((definition, ready)) }
    }
    hostless = try await Self.hostless(own.map(\.report.definition), api).map { own[$0] }
    try await addHostless(keeping: earlier.prefix(Self.mostEarlier), api)
    let failures = RequestFilter(states: [.failed], isNewestFirst: true)
    failed = try await api.requests(failures, after: nil, limit: Self.named + 1)
      .filter { ($0.endedAt ?? now) + Self.news >= now }
    let ready = try await api.requests(RequestFilter(states: [.ready]), after: nil, limit: 1).first
    oldestReady = ready.flatMap { max($0.submittedAt, $0.eligibleAt) + Self.longWait < now ? $0 : nil }
  }

  /// The places of the definitions that no host can run, as the hosts are configured.
  private static func hostless(_ definitions: [Definition], _ api: any OperatorAPI) async throws -> [Int] {
    let compared = Array(definitions.prefix(AbleHosts.mostDefinitions))
    guard !compared.isEmpty else { return [] }
    let able = try await api.ableHosts(for: compared)
    return able.counts.indices.filter { able.counts[$0].ever == 0 }
  }

  /// Adds the classes whose requests keep an earlier definition that no host can run.
  private mutating func addHostless(
    keeping classes: some Sequence<QueueReport.Class>, _ api: any OperatorAPI
  ) async throws {
    var (found, definitions): ([QueueReport.Class], [Definition]) = ([], [])
    for one in classes {
      guard let next = one.next.first,
        // The request may have ended meanwhile.
        let own = try? await api.definition(of: next.identifier, number: next.number), !own.isApplied
      else { continue }
      found.append(one)
      definitions.append(own.definition)
    }
    hostlessEarlier = try await Self.hostless(definitions, api).map { found[$0] }
  }

  // MARK: What needs a person

  package struct Matter {
    /// What it is about.
    package enum Subject {
      case fleet, hosts, failures, queue
      case request(JobIdentifier, Int)
      case definition(IdentifierPattern)
    }

    /// One word for programs.
    package var kind: String
    package var subject: Subject
    /// What it is, in a sentence without its end.
    package var fact: String
    /// The command that tells more or ends it; `nil` if the sentence says enough.
    package var command: String?

    package var text: String { fact + (command.map { ": \($0)" } ?? "") }
  }

  package var attention: [Matter] {
    var found: [Matter] = []
    if standing.isPaused {
      found.append(Matter(kind: "paused", subject: .fleet, fact: "the fleet is paused", command: "baton resume"))
    }
    if let problem = standing.problem {
      found.append(Matter(kind: "notReady", subject: .fleet, fact: problem.onOneLine))
    }
    found += coordinators.filter { ($0.beatAge ?? .zero) > .seconds(3) }.map { coordinator in
      Matter(
        kind: "coordinatorSilent", subject: .fleet,
        fact: "coordinator \(coordinator.number) shows no sign of life", command: "baton coordinators")
    }
    found += gone + drained + evicted + failures
    found += withoutHosts
    if let record = oldestReady {
      let time = (now - max(record.submittedAt, record.eligibleAt)).magnitude.inWords
      found.append(
        Matter(
          kind: "waits", subject: .request(record.identifier, record.number),
          fact: "\(record.name) has been ready for \(time)", command: "baton explain \(record.name.arguments)"))
    }
    return found
  }

  private var withoutHosts: [Matter] {
    let own = hostless.map { report, ready in
      let pattern = report.definition.pattern.rawValue
      let command =
        report.definition.pattern.isWildcard ? "baton list '\(pattern)' --state ready" : "baton explain \(pattern)"
      return Matter(
        kind: "noHost", subject: .definition(report.definition.pattern),
        fact: "no host can run \(pattern), of which \(Self.waiting(ready))", command: command)
    }
    let earlier = hostlessEarlier.compactMap { one in
      one.next.first.map { next in
        Matter(
          kind: "noHost", subject: .request(next.identifier, next.number),
          fact: "no host can run an earlier definition of \(one.pattern), under which \(Self.waiting(one.ready))",
          command: "baton apply FILE --refreeze gives them the new one")
      }
    }
    let shown = Array((own + earlier).prefix(Self.named))
    guard own.count + earlier.count > Self.named else { return shown }
    return shown + [Matter(kind: "noHost", subject: .queue, fact: "and more", command: "baton queue")]
  }

  private static func waiting(_ count: Int) -> String {
    "\(counted(count, "request")) \(count == 1 ? "waits" : "wait")"
  }

  private var gone: [Matter] {
    guard let count = hosts.states[.gone], let first = goneHosts.first else { return [] }
    let names = Self.few(goneHosts.map(\.rawValue.onOneLine), of: count)
    return [
      Matter(
        kind: "hostsGone", subject: .hosts,
        fact: "\(counted(count, "host")) \(count == 1 ? "is" : "are") gone (\(names))",
        command: "baton hosts \(first.rawValue.onOneLine)")
    ]
  }

  /// All hosts that would take work were drained by operators, and requests wait.
  private var drained: [Matter] {
    let (draining, waiting) = (hosts.states[.draining] ?? 0, counts[.ready] ?? 0)
    guard hosts.states[.ready] ?? 0 == 0, draining > 0, waiting > 0 else { return [] }
    return [
      Matter(
        kind: "allDraining", subject: .hosts,
        fact: "no host takes work, because \(counted(draining, "host")) \(draining == 1 ? "is" : "are") draining, and "
          + Self.waiting(waiting), command: "baton undrain HOST")
    ]
  }

  private var evicted: [Matter] {
    Dictionary(grouping: standing.evictions, by: \.pattern).sorted { $0.key < $1.key }.map { pattern, evictions in
      let hosts = Self.few(evictions.map(\.host.rawValue.onOneLine))
      return Matter(
        kind: "evicted", subject: .definition(pattern), fact: "\(pattern) is kept away from \(hosts)",
        command: "baton evict '\(pattern)' --allow ends that")
    }
  }

  private var failures: [Matter] {
    let shown = failed.prefix(Self.named).map { record in
      let reason = record.reason.map { ": \($0.lastLine.onOneLine)" } ?? ""
      return Matter(
        kind: "failed", subject: .request(record.identifier, record.number),
        fact: "\(record.name) failed \((record.endedAt ?? now).relative(to: now))\(reason)")
    }
    guard failed.count > Self.named else { return shown }
    return shown + [
      Matter(kind: "failed", subject: .failures, fact: "and more", command: "baton list --state failed --since 24h")
    ]
  }

  /// - Parameter count: how many there are, if `names` has only the first ones.
  private static func few(_ names: [String], of count: Int? = nil) -> String {
    let more = (count ?? names.count) - namedHosts
    return names.prefix(namedHosts).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  // MARK: JSON

  package var json: JSONValue {
    [
      "paused": .bool(standing.isPaused), "problem": JSONValue(standing.problem),
      "coordinators": JSONValue(coordinators.count),
      "hosts": .object(
        HostReport.State.allCases.map { state in
          JSONValue.Member(key: state.rawValue, value: JSONValue(hosts.states[state] ?? 0))
        }),
      "usedSlots": JSONValue(hosts.usedSlots), "slots": JSONValue(hosts.slots),
      "requests": .object(
        RequestState.allCases.map { JSONValue.Member(key: $0.rawValue, value: JSONValue(counts[$0] ?? 0)) }),
      "evictions": .array(
        standing.evictions.map { eviction in
          ["host": JSONValue(eviction.host.rawValue), "identifier": JSONValue(eviction.pattern.rawValue)]
        }),
      "attention": .array(attention.map { ["kind": JSONValue($0.kind), "text": JSONValue($0.text)] }),
    ]
  }
}
