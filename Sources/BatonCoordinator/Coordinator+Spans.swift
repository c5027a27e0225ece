import BatonBase
import BatonIdentity
import BatonModel
import BatonStore
import BatonTelemetry
import Logging
import Synchronization

/// Sends the spans of the store's rows to the tracing backend. The rows are the queue: spans that the backend has not
/// confirmed are sent again by this coordinator or the next one, so that no launch, expiry or completion lacks its
/// span, whichever process was killed. No other work waits for the sending of spans.
extension Coordinator {
  func deliverSpans(_ delivery: SpanDelivery) async throws {
    var state = DeliveryState(delivery)
    while true {
      try await spanSignal.wait { try await self.clocks.sleep(delivery.batch.delay) }
      self.state.withLock { $0.endedSpans = 0 }
      var begin = clocks.now().instant
      while try await deliverRound(delivery, &state) {
        // The time that the backend took to answer does not count as this process's own work.
        let took = clocks.now().instant - begin - state.waited
        if takeNews(), state.failures == 0, !state.isLate {
          try await clocks.sleep(min(took * delivery.pause, .seconds(1)))
        }
        state.waited = .zero
        begin = clocks.now().instant
      }
    }
  }

  /// Whether more spans have ended since the last request. If so, the coordinator is busy, and its other work goes
  /// first.
  private func takeNews() -> Bool {
    state.withLock { state in
      defer { state.endedSpans = 0 }
      return state.endedSpans > 0
    }
  }

  /// Counts rows that may have ended spans. When they fill a request, the request is sent without waiting for its
  /// time.
  func noteSpans(_ count: Int) {
    guard let delivery = settings.spans else { return }
    let isEnough = state.withLock { state in
      state.endedSpans += count
      return state.endedSpans >= delivery.batch.batch
    }
    if isEnough { spanSignal.raise() }
  }

  /// Sends the remaining spans at the end of the process, for at most three seconds. The next coordinator sends what
  /// is left.
  package func deliverRest() async {
    guard let delivery = settings.spans else { return }
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        var state = DeliveryState(delivery, isLast: true)
        while (try? await self.deliverRound(delivery, &state)) == true, !Task.isCancelled {}
      }
      group.addTask { try? await self.clocks.sleep(.seconds(3)) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Reads spans, sends them in requests, one after the other, and confirms all that were delivered in one write. If
  /// the process is killed before that, they are sent again.
  /// - Returns: false if nothing more waits, or if the backend has to be left alone for now.
  private func deliverRound(_ delivery: SpanDelivery, _ state: inout DeliveryState) async throws -> Bool {
    // Of several coordinators one sends the spans of all. Another one may take over at any moment (`.moved`).
    guard self.state.withLock({ $0.core.isSteward }) else { return false }
    let limit = delivery.batch.batch * SpanDelivery.batchesOfRound
    do {
      let sources = try await store.unsentSpans(limit: limit)
      guard !sources.isEmpty else { return false }
      let head = try await auditHead()
      var (rest, delivered): (ArraySlice<SpanSource>, [SpanKey]) = (sources[...], [])
      while !rest.isEmpty {
        var (keys, request) = delivery.request(of: rest, atMost: state.size.spans, at: now().date)
        request.resource = request.resource.replacing(with: [head])
        state.isLate = delivery.isLate(request.spans, at: now().date)
        let sentAt = clocks.now().instant
        let verdict = await delivery.send(request)
        state.waited += clocks.now().instant - sentAt
        note(verdict, &state)
        switch verdict {
        case .delivered:
          state.size.sufficed()
          delivered += keys
        case .retry(let asked):
          try await store.confirmSpans(delivered)
          let wait = delivery.backoff.wait(after: state.failures, asked: asked, draw: delivery.draw())
          try await clocks.sleep(state.isLast ? .milliseconds(250) : wait)
          return true
        case .tooLarge where keys.count > 1 && request.spans.count > 1:
          _ = state.size.wasTooLarge(request.spans.count)
          continue
        case .tooLarge(let reason), .rejected(let reason): try await reject(keys, request.spans.count, because: reason)
        case .partial(let count, let message): try await reject(count, of: keys, because: message)
        }
        rest = rest.dropFirst(keys.count)
      }
      try await store.confirmSpans(delivered)
      return sources.count == limit
    } catch let error as StoreError where error.code == .moved {
      return false
    } catch let error as StoreError where error.isPassing {
      note(error, while: "sending spans")
      return false
    }
  }

  /// The head of the audit log, which the spans carry to another place: the store's owner could write a whole new log,
  /// but not change what the backend has. It describes the sender, because a span that is sent again has to be the
  /// same.
  private func auditHead() async throws -> Attribute {
    let head = try await store.auditHead()
    return Attribute(
      Names.Resource.auditHead, .string("\(head.sequence):\(Hexadecimal.text(head.hash))"))
  }

  /// Logs when the backend begins to take no spans, and when it takes spans again.
  private func note(_ verdict: ExportVerdict, _ state: inout DeliveryState) {
    if case .retry = verdict {
      state.failures += 1
      if state.failures == 1 { logger.warning("the tracing backend takes no spans; they wait in the store") }
    } else {
      if state.failures > 0 { logger.notice("the tracing backend takes spans again") }
      state.failures = 0
    }
  }

  /// Marks spans that the backend will never take.
  private func reject(_ keys: [SpanKey], _ spans: Int, because reason: String) async throws {
    logger.error("the tracing backend rejected spans: \(reason)", metadata: ["spans": "\(spans)"])
    try await store.rejectSpans(keys, because: reason, at: now().moment)
    metrics.spansDropped(spans, .rejected)
  }

  /// The backend took a request in part.
  /// - Parameter rejected: how many spans it rejected; 0 if it only says something.
  private func reject(_ rejected: Int64, of keys: [SpanKey], because message: String) async throws {
    guard rejected > 0 else {
      // The exporter, which knows the address, logs the warning, at most once a minute.
      logger.debug("the tracing backend says of spans: \(message)")
      return try await store.confirmSpans(keys)
    }
    // The backend does not say which spans it rejected, so all of them are marked as rejected.
    let text = "\(rejected) of these \(keys.count) were rejected: \(message)"
    logger.error("the tracing backend took only a part: \(text)")
    try await store.rejectSpans(keys, because: text, at: now().moment)
    metrics.spansDropped(Int(clamping: rejected), .rejected)
  }

  /// Drops spans that are too old or too many, so that a backend that is gone for good does not fill the disk.
  func dropOldSpans() async throws {
    let (limits, time) = (settings.retention, now().moment.steady + (.zero - settings.retention.spansFor))
    var dropped = 0
    defer {
      if dropped > 0 { logger.error("spans were dropped that no backend took", metadata: ["occasions": "\(dropped)"]) }
    }
    while true {
      let step = try await store.dropUnsentSpans(endedBefore: time, beyond: limits.spanCount, limit: 500)
      dropped += step
      metrics.spansDropped(step, .unreachable)
      if step < 500 { return }
      try await clocks.sleep(.milliseconds(50))
    }
  }
}

private struct DeliveryState {
  /// Failed attempts in a row.
  var failures = 0
  /// How long the backend took for its last answer.
  var waited = Duration.zero
  /// The spans of the last request had waited for too long.
  var isLate = false
  /// How many spans go in one request.
  var size: RequestSize
  /// The process is ending: a failed request is tried again soon or not at all.
  let isLast: Bool

  init(_ delivery: SpanDelivery, isLast: Bool = false) {
    size = RequestSize(atMost: delivery.batch.batch)
    self.isLast = isLast
  }
}

extension SpanDelivery {
  /// How many spans are read at once, as a multiple of the largest request.
  fileprivate static let batchesOfRound = 4

  /// As many sources as fit into one request, and their spans.
  fileprivate func request(
    of sources: ArraySlice<SpanSource>, atMost count: Int, at now: Timestamp
  ) -> ([SpanKey], TraceRequest) {
    var (keys, spans): ([SpanKey], [SpanRecord]) = ([], [])
    for source in sources {
      let more = source.spans(asOf: now)
      if !spans.isEmpty, spans.count + more.count > count { break }
      keys.append(source.key)
      spans += more
    }
    return (keys, TraceRequest(resource: resource, spans: spans))
  }
}
