package import BatonModel
package import BatonStore

/// What operators learn of hosts, and what is forgotten of them.
extension Coordinator {
  /// The most hosts of one page. A page of the wire is also bounded in bytes.
  package static let mostHosts = 1_000

  /// A page ends with its last host. Only the first one goes on, to count all hosts that match.
  package func hosts(_ filter: HostFilter, after: HostName?, limit: Int) async throws -> HostPage {
    let limit = min(max(1, limit), Self.mostHosts)
    var page = HostPage(hosts: [], hasMore: false, summary: after == nil ? HostSummary() : nil)
    try await eachHost(after: after) { fleet, state in
      let (facts, slots, used) = (state.host.conditions, state.host.capabilities.slots, state.host.usedSlots)
      guard filter.matches(state.host.name, state.reportState, facts, used: used, slots: slots) else { return true }
      page.summary?.add(state.reportState, facts, used: used, slots: slots)
      page.hasMore = page.hosts.count == limit
      if !page.hasMore { page.hosts.append(fleet.report(state)) }
      return !page.hasMore || page.summary != nil
    }
    return page
  }

  package func forgetHost(_ host: HostName) async throws {
    try requireKnown(host)
    let transfers = try await translating { try await self.store.forgetHost(host, at: self.now().moment) }
    forgot([host], transfers)
  }

  /// Takes over that the store has forgotten hosts, and what became of their transfers.
  func forgot(_ hosts: [HostName], _ transfers: TransferNews) {
    decide { state in
      state.core.forgot(hosts)
      state.core.transfersEnded(transfers.nextDue)
    }
    tell(transfers.ended)
  }

  package func history(of host: HostName, since: Timestamp, limit: Int) async throws -> HostHistory {
    try requireKnown(host)
    return try await translating { try await self.store.history(of: host, since: since, limit: limit) }
  }

  package func prune(_ selection: PruneSelection, isRehearsal: Bool) async throws -> PruneAnswer {
    guard selection.states.allSatisfy(\.isEnded), selection.endedFor >= .zero else {
      throw OperatorError.invalid("only requests that have ended can be pruned")
    }
    return try await translating {
      try await self.store.prune(selection, isRehearsal: isRehearsal, at: self.now().moment)
    }
  }

  package func versions(of pattern: IdentifierPattern) async throws -> [DefinitionVersion] {
    let found = try await translating { try await self.store.versions(of: pattern) }
    guard !found.isEmpty else {
      throw OperatorError.notFound("no definition of '\(pattern)' was applied: look at 'baton definitions'")
    }
    return found
  }
}

extension FleetSnapshot {
  /// What operators are told of a host; `nil` if it is not known.
  func report(_ name: HostName) -> HostReport? { dispatcher.hosts[name].map(report) }

  func report(_ state: HostState) -> HostReport {
    HostReport(
      name: state.host.name, state: state.reportState, version: state.version, capabilities: state.host.capabilities,
      conditions: conditions(of: state), usedSlots: state.host.usedSlots,
      running: state.launches.values.map(\.identifier).sorted(), lastSeenAt: lastSeenAt(state.host.name),
      coordinator: coordinator(of: state), age: age(of: state))
  }
}

extension CoordinatorCore {
  /// Takes over that the store has forgotten hosts.
  package mutating func forgot(_ hosts: [HostName]) {
    for host in hosts where dispatcher.forget(host) { (lastSeen[host], conditionsCame[host]) = (nil, nil) }
  }
}

extension Dispatcher {
  /// Forgets a host, unless a worker of its name has come back meanwhile.
  /// - Returns: whether the host is not known any more.
  mutating func forget(_ host: HostName) -> Bool {
    guard let state = hosts[host] else { return true }
    guard state.lease == .none, state.link == .away, state.launches.isEmpty, state.undelivered.isEmpty else {
      return false
    }
    bookings = bookings.filter { $0.value != host }
    hosts[host] = nil
    forgottenHosts += 1
    return true
  }

  /// Forgets the hosts that the store does not name any more: another coordinator has forgotten them.
  mutating func forgetOthers(than records: [HostRecord]) {
    let named = Set(records.map(\.name))
    for (name, state) in hosts where !named.contains(name) && state.leaseNumber > 0 { _ = forget(name) }
  }
}
