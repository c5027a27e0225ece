import BatonModel
import BatonStore

/// Calls that look at the fleet, and that forget. A caller with patterns sees only what they cover.
extension PermittedAPI {
  /// Of what runs on the hosts, only what the caller's patterns cover is named.
  func hosts(_ filter: HostFilter, after: HostName?, limit: Int) async throws -> HostPage {
    var page = try await api.hosts(filter, after: after, limit: limit)
    for index in page.hosts.indices { page.hosts[index].running.removeAll { !caller.covers($0) } }
    return page
  }

  func forgetHost(_ host: HostName) async throws {
    try await changing("ForgetGoneHost", host.rawValue) { try await api.forgetHost(host) }
  }

  func history(of host: HostName, since: Timestamp, limit: Int) async throws -> HostHistory {
    var history = try await api.history(of: host, since: since, limit: limit)
    history.launches.removeAll { !caller.covers($0.identifier) }
    return history
  }

  func prune(_ selection: PruneSelection, isRehearsal: Bool) async throws -> PruneAnswer {
    let object = selection.pattern?.rawValue ?? "*"
    if let pattern = selection.pattern {
      try await check(pattern, "Prune")
    } else {
      try await checkUnlimited("Prune", object)
    }
    if isRehearsal { return try await api.prune(selection, isRehearsal: true) }
    return try await changing("Prune", object, detail: selection.words) {
      try await api.prune(selection, isRehearsal: false)
    } nothing: {
      $0.count == 0 ? "nothing to prune" : nil
    }
  }

  func versions(of pattern: IdentifierPattern) async throws -> [DefinitionVersion] {
    try await check(pattern, "Versions")
    return try await api.versions(of: pattern)
  }

  func batches(_ identifier: JobIdentifier, number: Int?, shard: Int?, batch: Int?) async throws -> BatchList {
    try await check(identifier, number, "Batches")
    return try await api.batches(identifier, number: number, shard: shard, batch: batch)
  }

  func changes(_ body: @escaping @Sendable (Set<ChangeTopic>) async throws -> Void) async throws {
    try await api.changes { topics in
      let known = topics.filter { $0.identifier.map(caller.covers) ?? true }
      if !known.isEmpty { try await body(known) }
    }
  }

  func queue() async throws -> QueueReport {
    var report = try await api.queue()
    report.classes = report.classes.compactMap { one in
      var one = one
      one.next.removeAll { !caller.covers($0.identifier) }
      return caller.covers(one.pattern) || !one.next.isEmpty ? one : nil
    }
    return report
  }

  func ableHosts(for definitions: [Definition]) async throws -> AbleHosts {
    try await api.ableHosts(for: definitions)
  }

  func explain(
    _ identifier: JobIdentifier, number: Int?, groupingBeyond few: Int
  ) async throws -> Explanation {
    try await check(identifier, number, "Explain")
    return permitted(try await api.explain(identifier, number: number, groupingBeyond: few))
  }
}

extension PruneSelection {
  /// The selection in words, for the audit log.
  fileprivate var words: String {
    let states = states.isEmpty ? "" : "states=" + states.map(\.rawValue).sorted().joined(separator: ",") + " "
    return states + "endedFor=\(Int(endedFor.components.seconds))s"
  }
}
