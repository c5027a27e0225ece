import BatonModel
import BatonStore
import Synchronization

/// What all requests of a class have in common for `explain`, as it was at one moment: examined once, it answers
/// everybody who asks about such a request within a second.
struct ExaminedClass: Sendable {
  var requirementClass: RequirementClass
  /// The request's identifier, if hosts treat the requests of the class differently because of it; else `nil`.
  var identifier: JobIdentifier?
  /// Who submitted the request, if hosts treat the requests of the class differently because of that; else `nil`.
  var principal: String?
  var at: Instant
  /// The obstacles of the fleet, with times on the wall clock.
  var fleet: [Obstacle] = []
  var order: Explanation.Order
  /// The host that the class has reserved, and for which request; `nil` stands for any of the class.
  var booked: (request: RequestID?, host: Explanation.Reservation)?
  /// In the order in which they are told.
  var hosts = ExaminedHosts()

  func holds(for record: RequestRecord) -> Bool {
    requirementClass == RequirementClass(definition: record.definition, priority: record.priority)
      && identifier ?? record.identifier == record.identifier && principal ?? record.principal == record.principal
  }

  /// What a ready request has reserved.
  func reservation(of record: RequestRecord) -> Explanation.Reservation? {
    guard record.state == .ready, let booked, booked.request ?? record.id == record.id else { return nil }
    return booked.host
  }
}

/// The examinations of the last second, and a turnstile for new ones: at most one is made at a time, so that however
/// many clients ask, other calls have the rest of the machine.
final class SharedExaminations: Sendable {
  /// Fleets with no more hosts are examined for each call, which costs less than a millisecond.
  static let least = 64
  /// How long an examination is given to others.
  private static let lifetime = Duration.seconds(1)
  /// The most examinations that are kept: one of 10,000 hosts has about 2 MB.
  private static let most = 16

  let turnstile = Turnstile()
  private let kept = Mutex<[ExaminedClass]>([])

  /// An examination that was made within the last second and holds for the request; `nil` if there is none.
  func examination(of record: RequestRecord, at now: Instant) -> ExaminedClass? {
    kept.withLock { kept in kept.last { now - $0.at < Self.lifetime && $0.holds(for: record) } }
  }

  func keep(_ examination: ExaminedClass) {
    guard examination.hosts.members.count > Self.least else { return }
    let dropped = kept.withLock { kept -> [ExaminedClass] in
      let before = kept
      kept = kept.filter { examination.at - $0.at < Self.lifetime }.suffix(Self.most - 1) + [examination]
      return before
    }
    // The memory of what is not kept is freed here, without the lock.
    _ = dropped
  }
}

extension Coordinator {
  /// Examines every host for a request, or takes what was examined for another one of its class within a second.
  func examination(for record: RequestRecord, _ definition: Definition) async throws -> ExaminedClass {
    if sortedHostNames().names.count <= SharedExaminations.least { return try await examine(record, definition) }
    // The files of its transfers tie a request to one host, as they do no other request of the class.
    if record.filesOn != nil {
      return try await examinations.turnstile.inTurn { try await self.examine(record, definition) }
    }
    if let known = examinations.examination(of: record, at: now().instant) { return known }
    return try await examinations.turnstile.inTurn {
      // Another call may have examined the same class meanwhile.
      if let known = self.examinations.examination(of: record, at: self.now().instant) { return known }
      let made = try await self.examine(record, definition)
      self.examinations.keep(made)
      return made
    }
  }

  private func examine(_ record: RequestRecord, _ definition: Definition) async throws -> ExaminedClass {
    let requirementClass = RequirementClass(definition: record.definition, priority: record.priority)
    let revoked = revokedHosts
    // The order is computed on a copy, because it compares all classes.
    let order = snapshotWithoutHosts().order(of: record)
    var made = ExaminedClass(requirementClass: requirementClass, at: now().instant, order: order)
    let gpu = definition.requirements.gpu
    // The store gives the transfers of a request that has not got them to a host that has room for them.
    let loads = definition.transfers != nil && record.filesOn == nil ? try await store.transferLoads() : nil
    var offersGPU = false
    try await eachHost { fleet, state in
      let host = state.host
      var found = fleet.dispatcher.obstacles(
        on: state, for: definition, requirementClass, record.identifier, by: record.principal)
      if let files = record.filesOn, files != host.name { found.append(.filesElsewhere) }
      if let loads {
        found += Policy.obstaclesToTransfers(requests: loads[host.name] ?? 0, isOutOfRoom: state.isOutOfRoom)
      }
      made.hosts.add(
        host.name, fleet.conditions(of: state), lastSeenAt: fleet.lastSeenAt(host.name),
        isRevoked: revoked.contains(host.name),
        found.contains { $0.clearsAt != nil } ? found.map(fleet.onWallClock) : found)
      if let gpu, !offersGPU { offersGPU = host.couldOffer(gpu) }
      if !host.evictions.isEmpty, definition.pattern.isWildcard { made.identifier = record.identifier }
      if host.capabilities.permissions?.principals != nil { made.principal = record.principal }
      return true
    }
    (made.fleet, made.booked) = look { fleet in
      (
        fleet.dispatcher.fleetObstacles(for: definition, of: requirementClass, offersGPU: offersGPU)
          .map(fleet.onWallClock), fleet.booked(by: requirementClass)
      )
    }
    made.hosts = made.hosts.inOrder()
    return made
  }
}

extension FleetSnapshot {
  /// The host that a class has booked, and for which request.
  fileprivate func booked(
    by requirementClass: RequirementClass
  ) -> (request: RequestID?, host: Explanation.Reservation)? {
    guard let name = dispatcher.bookings[requirementClass], let booking = dispatcher.hosts[name]?.booking else {
      return nil
    }
    return (
      booking.first.request,
      Explanation.Reservation(host: name, expectedAt: now.moment.date(ofSteady: booking.dueAt))
    )
  }
}
