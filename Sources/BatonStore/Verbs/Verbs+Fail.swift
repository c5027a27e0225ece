internal import BatonModel

/// Strategy `fail`: a request starts now or is refused (contract, row 35).
extension Verbs {
  /// Why a request that must start at once cannot start, with all known obstacles; `nil` if it can start. Writes
  /// nothing.
  func refusalToWait(
    _ offer: SubmissionOffer, _ new: NewRequest, _ known: IdentifierRow?, at now: Moment
  ) throws -> Refusal? {
    var found = obstacles(to: new, known, at: now).map { HostObstacle(host: nil, obstacle: $0) }
    switch offer.refusal {
    case .immediateRunIneligible(let others): return .immediateRunIneligible(found + others)
    case .notPermitted, .unusable, .tooManyPending, .unavailable: return offer.refusal
    case nil: break
    }
    if let obstacle = try obstacle(to: offer.host, new.identifier) { found.append(obstacle) }
    if offer.host != nil {
      let keys = try limitObstacles(for: new.identifier, new.definition.definition, at: now)
      found += try (limitsReached(new.definition) + keys).map { HostObstacle(host: nil, obstacle: $0) }
    }
    return found.isEmpty ? nil : .immediateRunIneligible(found)
  }

  /// The obstacles in the request itself and in the other requests of its identifier. A request that waits already goes
  /// first; it is not replaced by a request that might not start.
  private func obstacles(to new: NewRequest, _ known: IdentifierRow?, at now: Moment) -> [Obstacle] {
    Readiness.obstacles(
      earliest: new.earliest,
      spacedUntil: known?.history.spacedUntil(new.definition.definition, poke: new.poke),
      before: [known?.liveNumber, known?.waiting?.number].compactMap { $0 }, at: now)
  }

  /// The limits of the definition, and the quotas of its namespace, that one more launch would exceed.
  private func limitsReached(_ definition: FrozenDefinition) throws -> [Obstacle] {
    let quotas = try quotaObstacles(for: definition.definition)
    guard let limit = definition.definition.maxRunning, try room(within: limit, of: definition) == 0 else {
      return quotas
    }
    return [.maxRunningReached(limit: limit)] + quotas
  }

  /// The obstacle on the offered host; `nil` if the request can start there.
  private func obstacle(to offer: SubmissionOffer.Offer?, _ identifier: JobIdentifier) throws -> HostObstacle? {
    guard let offer else { return HostObstacle(host: nil, obstacle: .noHosts) }
    guard let host = try holder(offer.lease) else {
      return HostObstacle(host: offer.lease.host, obstacle: .hostGone)
    }
    if let word = try wordAgainst(launchesOn: host) {
      return HostObstacle(host: word == .fleetPaused ? nil : offer.lease.host, obstacle: word)
    }
    return try isEvicted(identifier, from: host) ? HostObstacle(host: offer.lease.host, obstacle: .evicted) : nil
  }
}
