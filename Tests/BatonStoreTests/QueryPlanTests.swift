import GRDB
import Testing

@testable import BatonStore

/// The cost of a busy coordinator's verbs must not grow with the queue: every hot statement is a seek.
@Suite struct QueryPlanTests {
  private static let hot: [Query] = [
    .submission, .insertSubmission, .identifier, .insertIdentifier, .advanceIdentifier, .waitingOfIdentifier,
    .liveOfIdentifier, .insertRequest, .replaceRequest, .setPayload, .clearPayload, .insertEvent, .pattern,
    .share, .setShare, .definition, .leaseHolder, .oldestReady, .headOfClass, .readyRequest, .startRequest,
    .insertLaunch,
    .noteFirstLaunch, .due, .dueDates, .nextEligible, .nextDate, .anyReady, .waitingRequestByID, .standing, .firstBatch,
    .setProgress, .resetLosses, .keepResult, .resultOf,
    .launchedRequest, .closeLaunch, .settleRequest, .heldRequest, .setReadiness, .openLaunch, .noteExpiry,
    .itemStanding, .lastPage, .insertPage, .freezeItems, .pages, .openLaunchOn, .lastOutput, .setOutput, .trimOutput,
    .output, .hostRow, .leaseOwner, .grantLease, .openOnHost, .endLease, .assignments, .unfinishedRequest,
    .unfinishedOfIdentifier, .scheduledBelow, .readyBelow, .runningBelow, .cancelRequest, .noteCancellation,
    .reopenRequest, .requestByID,
    .requestByNumber, .liveRequest, .waitingRequest, .launches, .events, .lastLaunchedRequest, .lastRequestWithOutput,
    .skippedBatches, .setDefinition, .forgetItems,
    .keepLaunchDefinitions, .skipBatch,
    .endedBefore, .oldestEnded, .deleteRequest, .setAnchor, .setNoData, .pokes, .insertPoke, .deleteSubmission,
    .hostUse, .setHostUse,
    .hostName, .evict, .allow, .oldestReadyPermitted, .noteReport, .notePace, .saveClock, .clock,
    .requestExists, .insertJoining, .dropJoining, .joining, .noteUse, .readyBefore, .eligibleBefore, .datedBefore,
    .reportOfHost, .changesOfHost, .setChanges, .insertCondition, .dropConditions, .conditionsOfHost,
    .openLaunchesOfHost, .launchesOfHost, .goneAt, .setGone, .forgetHost, .versions, .versionOf, .newestVersion,
    .insertVersion, .dropVersions, .nextOfClass, .goneHosts,
    .namespaceShare, .setNamespaceShare, .patternName,
    .setPause, .isPaused, .forgetPause, .setBackfill, .endBackfill, .setScheduled,
    .countNotification, .insertNotification, .dueNotifications, .deleteNotification, .retryNotification,
    .failNotification, .moveLaterNotifications, .lateRequests, .setPatience, .keepPatience,
    .limitRow, .setLimitRow, .firstWaitingOn, .waitingOn, .waitOnKey, .keyWaitedFor, .lines, .addLine, .removeLine,
    .dueLimits, .deleteLimit,
    .ownTenure, .setCommits, .names, .commits, .raiseBeat, .isLiving,
  ]

  private func plan(_ query: Query) async throws -> [String] {
    let store = try SQLiteStore.inMemory()
    return try await store.read { verbs in
      let statement = try verbs.db.makeStatement(sql: "EXPLAIN QUERY PLAN " + query.sql)
      let arguments = StatementArguments(Array(repeating: 1, count: statement.columnCount == 0 ? 0 : parameters(query)))
      statement.setUncheckedArguments(arguments)
      return try Row.fetchAll(statement).map { $0["detail"] }
    }
  }

  @Test(arguments: hot.indices)
  func aHotStatementScansNothing(index: Int) async throws {
    let query = Self.hot[index]
    for step in try await plan(query) {
      // A scan of an ordered index that stops after `LIMIT` rows is not a scan of the queue.
      let isOrdered = step.contains("USING INDEX request_") || step.contains("USING COVERING INDEX request_")
      // Rows that refer to a new one are looked for only while a deferred foreign key is violated.
      let isOfForeignKey = query === Query.insertIdentifier && step == "SCAN submission"
      // The patterns of principals, of which there are a few, are a parameter.
      let isOfParameter = step.hasPrefix("SCAN json_each")
      // What a subquery with a limit has found is counted.
      let isCounted = step == "SCAN found" && query.sql.contains("LIMIT \(Verbs.countLimit + 1)")
      #expect(
        !step.hasPrefix("SCAN") || isOrdered && query.sql.contains("LIMIT") || isOfForeignKey || isOfParameter
          || isCounted,
        "\(step)\n\(query.sql)")
      #expect(!step.contains("TEMP B-TREE"), "\(step)\n\(query.sql)")
    }
  }

  @Test func claimAndPromotionUseTheirIndexes() async throws {
    #expect(try await plan(.oldestReady).contains { $0.contains("request_ready (definition=? AND priority=?)") })
    #expect(
      try await plan(.oldestReadyPermitted).contains { $0.contains("request_ready (definition=? AND priority=?)") })
    #expect(try await plan(.headOfClass).contains { $0.contains("request_ready ((definition,priority)>(?,?))") })
    #expect(try await plan(.due).contains { $0.contains("request_eligible (eligible_at<?)") })
    #expect(try await plan(.dueDates).contains { $0.contains("request_dated (earliest_at<?)") })
    #expect(try await plan(.nextEligible).contains { $0.contains("request_eligible") })
    #expect(try await plan(.nextDate).contains { $0.contains("request_dated") })
  }

  @Test func historiesUseTheirIndexes() async throws {
    #expect(try await plan(.launchesOfHost).contains { $0.contains("launch_of_host (host=? AND started_at>?)") })
    #expect(try await plan(.openLaunchesOfHost).contains { $0.contains("launch_open_on_host (host=?)") })
    #expect(try await plan(.conditionsOfHost).contains { $0.contains("condition_change USING PRIMARY KEY (host=?)") })
    #expect(try await plan(.goneHosts).contains { $0.contains("host_gone (<expr><?)") })
    #expect(try await plan(.oldConditions).contains { $0.contains("condition_change_steady (steady<?)") })
    #expect(try await plan(.nextOfClass).contains { $0.contains("request_ready (definition=? AND priority=?)") })
    #expect(try await plan(.endedOfSelection).contains { $0.contains("request_ended_steady (<expr><?)") })
    #expect(try await plan(.endedForTheirTime).contains { $0.contains("request_ended_steady (<expr><?)") })
  }

  @Test func notificationsUseTheirIndexes() async throws {
    #expect(try await plan(.dueNotifications).contains { $0.contains("notification_due (receiver=? AND next_at<?)") })
    #expect(try await plan(.lateRequests).contains { $0.contains("request_tell_at (tell_at>? AND tell_at<?)") })
    #expect(try await plan(.waitingSince).contains { $0.contains("notification_since (since<?)") })
    #expect(try await plan(.failedBefore).contains { $0.contains("notification_failed (failed_at>? AND failed_at<?)") })
  }

  @Test func limitsUseTheirIndexes() async throws {
    let line = "request_waits_on (waits_on=? AND definition=? AND priority=?"
    #expect(try await plan(.waitingOn).contains { $0.contains(line) })
    #expect(try await plan(.firstWaitingOn).contains { $0.contains(line) })
    #expect(try await plan(.countWaiting).contains { $0.contains(line) })
    #expect(try await plan(.dueLimits).contains { $0.contains("limit_key_due (due_at<?)") })
    #expect(try await plan(.nextDueLimit).contains { $0.contains("limit_key_due") })
  }

  @Test func pokesAndPositionsUseTheirIndexes() async throws {
    #expect(try await plan(.pokes).contains { $0.contains("poke_request (request=?)") })
    #expect(
      try await plan(.readyBefore).contains { $0.contains("request_ready (definition=? AND priority=? AND rowid<?)") })
    #expect(try await plan(.eligibleBefore).contains { $0.contains("request_eligible (eligible_at<?)") })
    #expect(try await plan(.datedBefore).contains { $0.contains("request_dated (earliest_at<?)") })
  }

  /// Each list reads the index of its own requests, however many others there are.
  @Test(arguments: [
    (ListSource.host, "request_host (host=?"), (.scheduled, "request_scheduled (id>?)"),
    (.ready, "request_ready (definition=? AND priority=? AND rowid>?)"), (.running, "launch_open (request>?)"),
    (.shards, "launch_open_on_host (host=?"),
    (.succeeded, "request_ended_steady (<expr>>?"), (.failed, "request_unsuccessful (state="),
    (.cancelled, "request_unsuccessful (state="),
  ])
  func aListUsesItsIndex(source: ListSource, index: String) async throws {
    try await expect(source, .submittedFirst, index)
  }

  @Test(arguments: [
    (ListSource.host, "request_host (host=?"), (.scheduled, "request_scheduled (id<?)"),
    (.ready, "request_ready (definition=? AND priority=? AND rowid<?)"), (.running, "launch_open"),
    (.shards, "launch_open_on_host (host=?"), (.every, "r USING INTEGER PRIMARY KEY (rowid<?)"),
    (.succeeded, "request_ended_steady (<expr>>?"), (.failed, "request_unsuccessful (state="),
    (.cancelled, "request_unsuccessful (state="),
  ])
  func aListOfTheNewestUsesItsIndex(source: ListSource, index: String) async throws {
    try await expect(source, .submittedLast, index)
  }

  @Test(arguments: [
    (ListSource.host, "request_host (host=?"), (.ended, "request_ended_steady (<expr>>? AND <expr><?)"),
    (.unsuccessful, "request_unsuccessful (state>?)"),
  ])
  func aListOfEndedRequestsUsesItsIndex(source: ListSource, index: String) async throws {
    try await expect(source, .endedLast, index)
  }

  @Test(arguments: [
    (ListOrder.submittedFirst, "r USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
    (.submittedLast, "r USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
    (.endedLast, "request_ended_steady (<expr>>? AND <expr><?)"),
  ])
  func aListByKindAndSubmitterReadsAPartOfItsIndex(order: ListOrder, index: String) async throws {
    for names in [NameRange.Kind.every, .many] {
      let plan = try await plan(Query.narrowed(names, order))
      #expect(plan.contains { $0.contains(index) } && !plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }
  }

  private func expect(_ source: ListSource, _ order: ListOrder, _ index: String) async throws {
    for names in [NameRange.Kind.every, .many] {
      let plan = try await plan(Query.list(source, names, order))
      #expect(plan.contains { $0.contains(index) }, "\(plan)")
    }
  }

  @Test func ordersThatReadManyRequestsUseTheirIndexes() async throws {
    let indexes: [(Query, String)] = [
      (.scheduledBelow, "request_scheduled (id<?)"), (.readyBelow, "request_ready"),
      (.runningBelow, "launch_open (request>? AND request<?)"), (.scheduledOf, "request_scheduled"),
      (.readyOf, "request_ready (definition=?)"), (.runningOf, "launch_open"),
      (.unsentBefore, "request_ended_steady (<expr><?"),
      (.endedBefore, "request_ended_steady (<expr><?"), (.oldestEnded, "request_ended_steady"),
      (.pendingInAll, "coordinator_unsettled"),
      (.unsettled, "coordinator_unsettled"), (.readyHeads, "request_ready (definition=? AND priority>?)"),
      (.readyHeads, "request_ready (definition>?)"),
    ]
    for (query, index) in indexes {
      let plan = try await plan(query)
      #expect(plan.contains { $0.contains(index) }, "\(plan)")
    }
  }

  /// Only lists whose length names or retention bound may sort.
  @Test(arguments: ListSource.allCases, ListOrder.allCases)
  func noListSortsTheQueue(source: ListSource, order: ListOrder) async throws {
    let byEnds: Set<ListSource> = [.names, .host, .ended, .unsuccessful]
    let byIDs = Set(ListSource.allCases).subtracting([.ended, .unsuccessful])
    // The others are no sources of a list in this order.
    guard (order == .endedLast ? byEnds : byIDs).contains(source) else { return }
    let sorts = order == .endedLast ? source != .ended : source == .names || source == .succeeded
    for names in [NameRange.Kind.every, .many] {
      let query = Query.list(source, names, order)
      for step in try await plan(query) {
        #expect(sorts || !step.contains("TEMP B-TREE"), "\(step)\n\(query.sql)")
        #expect(!step.hasPrefix("SCAN i"), "\(step)\n\(query.sql)")
      }
    }
  }
}

private func parameters(_ query: Query) -> Int {
  let numbered = query.sql.split(separator: "?").dropFirst().compactMap { $0.first?.wholeNumberValue }.max()
  return numbered ?? query.sql.count { $0 == "?" }
}
