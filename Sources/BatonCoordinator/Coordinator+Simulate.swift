package import BatonModel
import BatonStore
import Synchronization

/// What `baton simulate` does: it causes real launches, expiries and conditions, which are marked as simulated
/// everywhere.
extension Coordinator {
  /// Starts a pending request now, regardless of its times and of the conditions of the host. What the host's owner
  /// has set still applies.
  /// - Parameter host: the host to start on; nil takes the first host that can run it.
  package func simulateLaunch(
    _ identifier: JobIdentifier, number: Int?, on host: HostName?
  ) async throws -> SimulatedLaunch {
    if let host {
      try requireKnown(host)
      try await requireOwn(host)
    }
    let record = try await pendingRequest(identifier, number)
    try await learn(record.definition)
    let (place, offer) = decide { $0.core.planSimulated(record, on: host, SpanID.random) }
    guard case .reserved(let reservation) = place, let offer else { throw noPlace(place, for: identifier) }
    var launched: Assignment?
    defer { decide { $0.core.launched(launched, for: reservation, record.id, at: now()) } }
    let assignment = try await translating {
      try await self.store.launchNow(record.id, on: offer, at: self.now().moment)
    }
    launched = assignment
    return SimulatedLaunch(
      identifier: identifier, number: record.number, launch: assignment.launch.number, host: reservation.host)
  }

  /// Throws if another coordinator serves the host, with where that one is: a simulated launch or condition begins at
  /// the coordinator that has the connection to the host.
  private func requireOwn(_ host: HostName) async throws {
    let owner = state.withLock { state -> Int64? in
      guard let known = state.core.dispatcher.hosts[host], known.lease == .elsewhere else { return nil }
      return known.servedBy?.epoch
    }
    guard let owner else { return }
    let other = try await coordinators().first { $0.number == owner && !$0.isEnded }
    throw OperatorError.conflict(
      "host '\(host)' is served by another coordinator" + (other.map { ", \($0.words)" } ?? "")
        + ": a simulation begins there, so ask that one")
  }

  private func pendingRequest(_ identifier: JobIdentifier, _ number: Int?) async throws -> RequestRecord {
    let record = try await request(identifier, number: number)
    guard record.state.isPending else {
      throw OperatorError.conflict(
        "request \(record.number) of '\(identifier)' \(record.state.predicate), so it cannot be launched: "
          + (record.state == .running
            ? "wait for its end, or cancel it" : "submit it first (baton submit \(identifier))"))
    }
    return record
  }

  private func learn(_ id: DefinitionID) async throws {
    guard state.withLock({ $0.core.dispatcher.definitions[id] == nil }), let definition = try await store.definition(id)
    else { return }
    state.withLock { $0.core.dispatcher.learn(id, definition) }
  }

  private func noPlace(_ place: Dispatcher.SimulatedPlace, for identifier: JobIdentifier) -> OperatorError {
    guard case .none(let obstacles) = place else { return .conflict("'\(identifier)' has no place") }
    let revoked = revokedHosts
    let reasons = obstacles.map { found in
      let remedy = found.obstacle.remedy(isRevoked: found.host.map(revoked.contains) ?? false)
      return (found.host.map { "\($0): " } ?? "") + found.obstacle.text + " (\(remedy.filling(identifier, found.host)))"
    }
    return .conflict("no host can launch '\(identifier)', not even simulated: " + reasons.joined(separator: "; "))
  }

  /// Asks the running launch to stop, as if for `reason`. The expiry counts towards no limit, and the request goes on
  /// with another launch.
  package func simulateExpiry(
    _ identifier: JobIdentifier, number: Int?, as reason: ExpiryReason.Kind?
  ) async throws -> SimulatedLaunch {
    let record = try await request(identifier, number: number)
    let shards = state.withLock { $0.core.dispatcher.launches(of: record.id) }
    let launch = record.shards == nil ? LaunchKey(request: record.id, number: record.launches) : shards.first
    guard record.state == .running, let host = record.host, let launch else {
      throw OperatorError.conflict(
        "request \(record.number) of '\(identifier)' \(record.state.predicate), so nothing of it can expire")
    }
    // Of a request with shards all launches expire.
    let launches = record.shards == nil ? [launch] : shards
    let isAsked = decide { state in
      launches.count { launch in state.core.decide { $0.expire(launch, .simulated(as: reason)) } } > 0
    }
    guard isAsked else {
      throw OperatorError.conflict("launch \(launch.number) of '\(identifier)' is asked to stop already")
    }
    return SimulatedLaunch(identifier: identifier, number: record.number, launch: launch.number, host: host)
  }

  /// Replaces the host's real conditions with these for the given time. Empty overrides end the simulation.
  package func simulateConditions(
    _ overrides: ConditionOverrides, on host: HostName, lasting: Duration
  ) async throws {
    try requireKnown(host)
    try await requireOwn(host)
    let isConnected = decide { state in
      state.core.decide { $0.simulate(overrides, on: host, lasting: lasting).effects }
    }
    guard isConnected else {
      throw OperatorError.conflict("the worker of host '\(host)' is not connected: look at 'baton hosts'")
    }
  }

  /// Tells the host of a transfer to do as if this had happened to it.
  package func simulateTransfer(_ key: TransferKey, _ what: TransferSimulation) async throws {
    guard let transfer = try await translating({ try await self.store.transfer(key) }) else {
      throw OperatorError.notFound("there is no transfer \(key): 'baton transfers' lists them")
    }
    guard transfer.status == nil else { throw OperatorError.conflict("the transfer \(key) has ended") }
    try await requireOwn(transfer.host)
    let problem = state.withLock { state -> String? in
      guard let session = state.core.transferSessions[transfer.host] else {
        return "the worker of host '\(transfer.host)' is not connected: look at 'baton hosts'"
      }
      guard let status = state.transfers.live[key] else {
        return "host '\(transfer.host)' has not begun the transfer \(key) yet"
      }
      if what == .interruption, status.state != .running {
        return "the transfer \(key) does not run now, so nothing of it can be interrupted"
      }
      Self.tell([.simulate(key, what)], to: session, &state)
      return nil
    }
    if let problem { throw OperatorError.conflict(problem) }
  }
}

extension CoordinatorReport {
  /// How people find it: its number, the name of its machine, and where it serves operators.
  package var words: String {
    let address = place.operators ?? place.workers
    return "number \(number)" + (place.name.isEmpty ? "" : " on \(place.name)")
      + (address.isEmpty ? "" : " (\(address))")
  }
}
