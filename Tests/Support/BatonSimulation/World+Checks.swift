import BatonCoordinator
import BatonCore
import BatonModel
import BatonStore

/// Checks that compare the journal with the store, and `explain` with the dispatcher.
extension World {
  /// Whether this round of dispatching is checked. A check copies the dispatcher, so only 10 % of the rounds are
  /// checked.
  func isObserving(_ coordinator: SimulatedCoordinator) -> Bool { coordinator.draw.chance(10) }

  /// Checks that the dispatcher reserves a place only where `explain` lists no obstacle.
  /// - Parameter before: the dispatcher before it reserved the places.
  func checkExplanation(of reservations: [Dispatcher.Reservation], before: Dispatcher, after: Dispatcher) throws {
    if before.reservedHosts > 0 { count(.order, "claim while hosts are reserved") }
    for reservation in reservations where !reservation.places.isEmpty {
      guard let definition = before.definitions[reservation.requirementClass.definition] else { continue }
      let (fleet, hosts) = before.obstacles(for: definition, of: reservation.requirementClass)
      let own = hosts.first { $0.0 == reservation.host }?.1 ?? [.noHosts]
      try journal.expect(
        fleet.isEmpty && own.isEmpty, .explain,
        "\(definition.pattern) gets a place on \(reservation.host) in spite of \((fleet + own).map(\.code))")
    }
  }

  /// Checks that a request does not stay ready for 10 s without an obstacle on some host, and that a scheduled request
  /// says what it waits for.
  func checkReasons(_ unfinished: [RequestRecord]) throws {
    let ready = ready
    guard !ready.isEmpty else { return }
    for record in unfinished {
      if record.state == .scheduled {
        try journal.expect(
          record.waitsBecause != nil, .explain, "\(record.identifier) is scheduled and does not say what it waits for")
      }
      let key = record.id
      guard record.state == .ready, ready.contains(where: { $0.sees(aPlaceFor: record) }) else {
        freeSince[key] = nil
        continue
      }
      let since = freeSince[key] ?? now
      freeSince[key] = since
      try journal.expect(
        now - since < .seconds(10), .explain,
        "\(record.identifier) is ready, nothing is in its way, and it does not start")
    }
  }

  /// Checks, in the calm, that a request is promoted soon after its time has come, and that a request that waits for a
  /// live request has one.
  func checkPunctuality(_ unfinished: [RequestRecord]) throws {
    // The time of a request comes by the clock of the steward, which makes it ready.
    guard let coordinator = ready.first(where: \.core.isSteward) else { return }
    let live = Set(unfinished.filter { $0.launches > 0 }.map(\.identifier))
    let (moment, time) = (coordinator.now().moment, coordinator.time())
    for record in unfinished {
      let isLate: Bool
      if record.state == .scheduled, case .key = record.waitsBecause?.detail {
        isLate = isKeptInVain(record, unfinished, at: moment.steady)
      } else if record.state == .scheduled, let reason = record.onWallClock(at: moment).waitsBecause {
        let hasCome = reason.clearsAt.map { $0 <= moment.date } ?? false
        isLate =
          hasCome || journal.isDue(record, at: time) && (record.launches > 0 || !live.contains(record.identifier))
          || waitsInVain(record, unfinished)
          || reason.code == Obstacle.Kind.waitsForLiveRequest.rawValue && !live.contains(record.identifier)
      } else {
        isLate = false
      }
      guard isLate else {
        lateSince[record.id] = nil
        continue
      }
      let since = lateSince[record.id] ?? now
      lateSince[record.id] = since
      try journal.expect(
        now - since < .seconds(3) + pace + journal.lag * 2, .late,
        "\(record.identifier) is scheduled \(record.waitsBecause.map { "(\($0.code))" } ?? ""), and nothing keeps it")
    }
  }

  /// Hosts on which slots or GPUs are in use. It is read when everything has ended, so the list has to be empty.
  var held: [String] {
    ready.flatMap { coordinator in
      coordinator.dispatcher.hosts.values.filter { $0.host.usedSlots != 0 || !$0.host.usedGPUs.isEmpty }
        .map(\.host.name.rawValue).sorted()
    }
  }

  /// Checks that the dispatcher regards a healthy worker as attached. The dispatcher starts launches only on attached
  /// workers.
  func checkAttachment(of worker: SimulatedWorker) throws {
    let host = worker.plan.name
    let coordinator = ready.first { $0.life == worker.link?.coordinatorLife }
    guard worker.isHealthy, let coordinator, coordinator.dispatcher.hosts[host]?.link != .attached else {
      awaySince[host] = nil
      return
    }
    let since = awaySince[host] ?? now
    awaySince[host] = since
    try journal.expect(
      now - since < .seconds(5) + schedule.leaseTerm, .late,
      "\(host) is connected, and the coordinator takes it for away")
  }

  /// Checks the end of a lease. Unless the death of the process was reported, either the worker has given the lease
  /// back, or its time is over: the coordinator has not heard of the worker for a whole term, a restart of the
  /// coordinator begins a new term, and the lease has ended by the worker's own clock already.
  func checkEndOfLease(
    _ lease: HostLease, by coordinator: SimulatedCoordinator, heard: Instant?, countsAsLoss: Bool
  ) throws {
    let (host, incarnation, machine) = (lease.host, lease.incarnation, coordinator.machine)
    if reportedDeaths.contains(incarnation) { return }
    guard countsAsLoss else { return try checkGivenBack(host, incarnation) }
    let heard = heard ?? machine.heard[host] ?? now
    try journal.expect(
      now - heard >= schedule.leaseTerm, now - machine.restoredAt < schedule.leaseTerm ? .restart : .leaseByTime,
      "\(host) lost its lease \((now - heard).inSeconds) s after it was heard of")
    guard let worker = workers.first(where: { $0.plan.name == host }), worker.isAlive,
      worker.core.incarnation == incarnation, case .held(let until, _, _) = worker.core.lease
    else { return }
    try journal.expect(
      until <= worker.now, .leaseByTime,
      "\(incarnation) lost its lease and believes to hold it for \((until - worker.now).inSeconds) s")
  }

  /// Checks a lease that ends before its time. The worker drains, or its process is about to end, and it runs no
  /// launch that is live, so no launch is cut short. It may still run launches that are withdrawn from it.
  private func checkGivenBack(_ host: HostName, _ incarnation: Incarnation) throws {
    guard let worker = workers.first(where: { $0.plan.name == host }), worker.isAlive,
      worker.core.incarnation == incarnation
    else { return }
    try journal.expect(
      (worker.core.isDraining || worker.core.endsProcessAt != nil)
        && worker.core.launches.allSatisfy { $0.value.hasEnded || journal.launches[$0.key]?.outcome != nil },
      .leaseByTime,
      "\(incarnation) lost its lease before its time, and has not shut down")
  }

  /// Records the start of a launch that the store has committed, and checks it.
  func started(
    _ assignment: Assignment, under lease: HostLease, by machine: Machine, at time: Journal.Time
  ) throws {
    try journal.started(assignment, on: lease.host, lease.incarnation, at: time)
    try checkWords(about: assignment, on: lease.host, by: machine)
    try checkChain(assignment)
    try checkFlow(assignment)
    try checkLimits(assignment)
    try checkInputs(assignment)
    if !isCalm, draw.chance(3) { cancelAtOnce(assignment.identifier) }
  }

  /// Checks that the start of a launch is not against an operator's word, whichever coordinator has taken that word. A
  /// coordinator hears of the words of others once a second, unless it is stopped or the store is slow or out of reach.
  private func checkWords(about assignment: Assignment, on host: HostName, by machine: Machine) throws {
    guard !assignment.isSimulated, !isStoreSlow, !machine.isCutOff else { return }
    let heardAt = max(settledAt, machine.wentOnAt, machine.restoredAt) + .seconds(2)
    guard now >= heardAt else { return }
    let ago = Duration.nanoseconds(now.nanoseconds) - .seconds(2)
    for wish in journal.wishes where wish.since <= ago && wish.concerns(host, assignment.identifier) {
      throw journal.violation(.expiry, "\(assignment.launch) has started against an operator's word: \(wish.text)")
    }
  }

  /// Cancels a job that has just been claimed, perhaps before the dispatcher has heard of the claim.
  private func cancelAtOnce(_ identifier: JobIdentifier) {
    guard let coordinator = anyCoordinator() else { return }
    after(.milliseconds(1), for: coordinator.owner) { coordinator.cancel(.identifier(identifier)) }
  }

  // MARK: Submissions

  /// Checks that every acknowledged submission is in the store.
  func checkSubmissions() throws {
    try store.transaction { verbs in
      for (id, receipt) in journal.receipts where !journal.pruned.contains(receipt.request) {
        let record = try verbs.request(receipt.request)
        try journal.expect(
          record?.number == receipt.number, .submissionLost,
          "\(id) was acknowledged as request \(receipt.request), which is not there")
      }
    }
  }

  // MARK: The end

  /// Compares the whole store with the journal, after every request has ended.
  func audit() throws {
    try checkSubmissions()
    let (records, launches) = try store.transaction { verbs in
      let records = try verbs.requests(RequestFilter(), after: nil, limit: 10_000)
      try countEvents(of: records, verbs)
      return (records, try records.map { try verbs.launches(of: $0.id) })
    }
    for (record, launches) in zip(records, launches) { try audit(record, launches) }
    try auditIdentities(records)
    try auditFollowers(records)
    try auditFlow(records)
    try auditNotifications(records)
    try auditSpans(launches.flatMap { $0 }, records)
  }

  private func audit(_ record: RequestRecord, _ launches: [LaunchRecord]) throws {
    // A request that is divided is the sum of its shards.
    let rows = journal.rows(of: record.id).compactMap { journal.requests[$0] }
    try journal.expect(record.state.isEnded, .liveness, "\(record.identifier) is \(record.state)")
    try journal.expect(
      launches.count == rows.reduce(0) { $0 + $1.launches }, .outcome,
      "request \(record.id) has \(launches.count) launches, \(rows.reduce(0) { $0 + $1.launches }) were seen")
    try journal.expect(
      record.progress.batches == rows.reduce(0) { $0 + $1.committed }, .checkpointLost,
      "request \(record.id) has \(record.progress.batches) batches, "
        + "\(rows.reduce(0) { $0 + $1.committed }) were committed")
    for launch in launches {
      let seen = journal.launches[launch.launch]
      try journal.expect(
        launch.outcome == seen?.outcome?.kind, .outcome,
        "launch \(launch.launch) is \(launch.outcome?.rawValue ?? "open"), and ended \(seen?.outcome?.code ?? "never")")
      try journal.expect(launch.spanID == seen?.spanID, .span, "launch \(launch.launch) has another span id")
      if let asked = seen?.asked?.reason {
        try journal.expect(
          launch.expiringReason == asked, .outcome,
          "launch \(launch.launch) was asked to stop for \(asked.code) first, and says \(launch.expiringReason?.code ?? "nothing")"
        )
      }
      if launch.outcome == .finished {
        let isTrue = seen?.said == .finished || journal.requests[launch.launch.request]?.reachedEnd == true
        try journal.expect(
          isTrue, .outcome,
          "launch \(launch.launch) is finished, and its handler said \(seen?.said.map { "\($0)" } ?? "nothing")")
      }
    }
  }

  /// Checks, in the calm, that a launch that was asked to stop is over in time, whether or not its worker can be
  /// reached.
  func checkExpiries() throws {
    for launches in journal.open.values {
      for launch in launches {
        try journal.checkStall(of: launch)
        guard let asked = journal.launches[launch]?.asked,
          let definition = journal.requests[launch.request]?.definition
        else { continue }
        let limit = asked.reason.closingWindow(of: definition) + schedule.leaseTerm * 2 + .seconds(15)
        let since = max(asked.at, schedule.calmAt)
        try journal.expect(
          journal.now - since < limit, .expiry,
          "\(launch) was asked to stop (\(asked.reason.code)) and runs on for \(limit.inSeconds) s")
      }
    }
  }

  /// Checks that a repeated job has its next request in the store when the last one starts. A backfill of a job whose
  /// chain was cancelled ends with its last time.
  func checkChain(_ assignment: Assignment) throws {
    guard assignment.launch.number == 1,
      schedule.definition(for: assignment.identifier)?.repeats == true
    else { return }
    let (started, next) = try store.transaction { verbs in
      let (name, number) = (assignment.identifier, assignment.requestNumber)
      return (try verbs.request(name, number: number), try verbs.request(name, number: number + 1))
    }
    try journal.expect(
      next != nil || started?.isBackfill == true, .completion,
      "\(assignment.launch) of a chain started, and none follows it")
  }

  /// Checks what the handler of a link was told of the next one: that it is in the store, and the only one that this
  /// link has made, in whichever of its launches.
  func checkLink(_ accepted: AcceptedSubmission, after launch: LaunchKey) throws {
    guard aftermath == nil else { return }
    let (link, next) = try store.transaction {
      (try $0.request(launch.request), try $0.request(accepted.identifier, number: accepted.number))
    }
    guard let link else { throw journal.violation(.submissionLost, "\(launch) runs, and its request is not stored") }
    // The answer to an earlier submission is repeated, whatever has become of its request.
    try journal.expect(
      next != nil || accepted.isRepeat, .submissionLost,
      "\(launch) was told of request \(accepted.number), which is not stored")
    guard !journal.mayForgetSubmissions else { return }
    try journal.expect(
      accepted.number == link.number + 1, .submissionLost,
      "link \(link.number) of a chain has submitted request \(accepted.number)")
  }

  /// Checks that every request was submitted by a client, except those of repeated jobs and of chains.
  private func auditIdentities(_ records: [RequestRecord]) throws {
    let asked = Set(journal.acceptedAt.keys)
    let others = [Schedule.chain, Schedule.follower, Schedule.lastFollower] + Schedule.flow
    for record in records where !others.contains(record.identifier) {
      guard schedule.definition(for: record.identifier)?.repeats != true else { continue }
      try journal.expect(
        asked.contains(record.id), .submissionLost,
        "request \(record.id) of \(record.identifier) was asked for by nobody")
    }
  }

  /// Checks that each end of a request of the chain is told once. Each end has an event for each of the two jobs that
  /// follow, or one that says why they do not.
  private func auditNotifications(_ records: [RequestRecord]) throws {
    let links = records.filter { $0.identifier == Schedule.chain }
    let (events, told) = try store.transaction { verbs in
      (try links.map { try verbs.events(of: $0.id) }, try verbs.notifications(limit: 1_000_000).waiting)
    }
    for (link, events) in zip(links, events) {
      let followed = events.count { $0.name == RequestEvent.followed.rawValue }
      let wanted = followed / 2 + events.count { $0.name == RequestEvent.notFollowed.rawValue }
      let own = told.filter { $0.key.subject == link.id.rawValue }
      try journal.expect(
        own.count == wanted, .submissionLost,
        "request \(link.number) of a chain has ended \(wanted) times, and \(own.count) notifications tell of it")
      try journal.expect(
        Set(own.map(\.id)).count == own.count, .submissionLost,
        "two notifications of request \(link.number) have one id")
    }
  }

  /// Checks that each end of a request of the chain has submitted both jobs that follow, once, and nothing else has.
  private func auditFollowers(_ records: [RequestRecord]) throws {
    let links = records.filter { $0.identifier == Schedule.chain }
    let events = try store.transaction { verbs in try links.map { try verbs.events(of: $0.id) } }
    var submitted = 0
    for (link, events) in zip(links, events) {
      let count = events.filter { $0.name == RequestEvent.followed.rawValue }.count
      submitted += count
      let ended = [.succeeded, .failed].contains(link.state)
      // A failed request that an operator has retried ends again.
      let wasRetried = events.contains { $0.name == RequestEvent.retried.rawValue }
      try journal.expect(
        count.isMultiple(of: 2) && (ended ? count == 2 || wasRetried && count > 2 : count == 0 || wasRetried),
        .submissionLost,
        "request \(link.number) of a chain is \(link.state), and \(count) requests have followed it")
    }
    // Links that are not kept any more have submitted some too.
    guard links.count == links.map(\.number).max() else { return }
    for follower in [Schedule.follower, Schedule.lastFollower] {
      let last = records.filter { $0.identifier == follower }.map(\.number).max() ?? 0
      try journal.expect(
        last <= submitted / 2, .submissionLost, "\(submitted / 2) ends have submitted \(last) requests of \(follower)")
    }
  }
}

extension SimulatedCoordinator {
  /// Whether nothing keeps the request from starting on a host of this coordinator, as far as the coordinator knows.
  fileprivate func sees(aPlaceFor record: RequestRecord) -> Bool {
    guard !machine.isCutOff, !world.isStopped(owner), let definition = dispatcher.definitions[record.definition] else {
      return false
    }
    let (fleet, hosts) = dispatcher.obstacles(
      for: definition, record.identifier, by: record.principal,
      of: RequirementClass(definition: record.definition, priority: record.priority))
    return fleet.isEmpty && hosts.contains(where: \.1.isEmpty)
  }
}
