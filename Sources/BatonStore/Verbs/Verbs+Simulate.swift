package import BatonModel

extension Verbs {
  /// Starts a pending request on the offered host, whatever its times say, and marks the launch as simulated. The
  /// request must not wait for a live request of its identifier.
  package func launchNow(
    _ id: RequestID, on offer: SubmissionOffer.Offer, at now: Moment
  ) throws -> Assignment {
    guard let host = try holder(offer.lease) else { throw StoreError.moved(offer.lease) }
    let request = try launchable(id)
    if let missing = try transfersMissing(for: request) {
      throw StoreError(
        .refused,
        "\(request.identifier) (request \(request.number)) cannot be launched: \(missing); see 'baton transfers'.")
    }
    let definition = try knownDefinition(request.definition).definition
    if let obstacle = try limitObstacles(for: request.identifier, definition, at: now).first {
      throw StoreError(
        .refused,
        "\(request.identifier) (request \(request.number)) cannot be launched: \(obstacle.text).")
    }
    if request.state == .scheduled { try makeReady(request, at: now) }
    try note(.simulatedLaunch, detail: offer.lease.host.rawValue, of: id.rawValue, at: now)
    return try start(
      readyCandidate(id), on: host, offer.lease.incarnation, offer.place, isSimulated: true, at: now)
  }

  /// The request, if it can be launched by hand. Throws `.notFound` or `.refused` otherwise.
  private func launchable(_ id: RequestID) throws -> RequestRecord {
    guard let request = try request(id) else { throw StoreError(.notFound, "There is no request \(id).") }
    let name = "\(request.identifier) (request \(request.number))"
    guard request.state.isPending else {
      throw StoreError(.refused, "\(name) \(request.state.predicate); only a pending request can be launched.")
    }
    guard request.shards == nil else {
      throw StoreError(.refused, "\(name) is divided into shards, which start when a host is free.")
    }
    if let obstacle = request.waitsBecause, obstacle.kind == .waitsForLiveRequest,
      case .number(let number) = obstacle.detail
    {
      throw StoreError(.refused, "\(name) waits for request \(number), which is live; end or cancel that one first.")
    }
    if let obstacle = request.waitsBecause, obstacle.kind == .waitsForOthers {
      throw StoreError(
        .refused, "\(name) cannot be launched: \(obstacle.text). Submit it again by itself, and it waits for nothing.")
    }
    return request
  }

  private func makeReady(_ request: RequestRecord, at now: Moment) throws {
    try prepare(.setReadiness).run(RequestState.ready.code, Int?.none, now.steady, request.id.rawValue, now.date)
    try count(pattern: try knownDefinition(request.definition).pattern, from: .scheduled, to: .ready)
  }
}
