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
      while try await deliverOnce(delivery, &state) {
        // The time that the backend took to answer does not count as our own work.
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
        while (try? await self.deliverOnce(delivery, &state)) == true, !Task.isCancelled {}
      }
      group.addTask { try? await self.clocks.sleep(.seconds(3)) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Sends one request.
  /// - Returns: false if nothing more waits, or if the backend has to be left alone for now.
  private func deliverOnce(_ delivery: SpanDelivery, _ state: inout DeliveryState) async throws -> Bool {
    let sources: [SpanSource]
    do {
      sources = try await store.unsentSpans(limit: state.size.spans)
      guard !sources.isEmpty else { return false }
      var (keys, request) = delivery.request(of: sources, atMost: state.size.spans, at: now().date)
      request.resource = request.resource.replacing(with: [try await auditHead()])
      state.isLate = delivery.isLate(request.spans, at: now().date)
      let sentAt = clocks.now().instant
      let verdict = await delivery.send(request)
      state.waited = clocks.now().instant - sentAt
      let isFull = sources.count == state.size.spans
      try await settle(keys, request.spans.count, verdict, &state)
      guard case .retry(let asked) = verdict else {
        return isFull || state.isDivided || keys.count < sources.count
      }
      if state.isLast {
        try await clocks.sleep(.milliseconds(250))
        return true
      }
      try await clocks.sleep(delivery.backoff.wait(after: state.failures, asked: asked, draw: delivery.draw()))
      return true
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

  private func settle(
    _ keys: [SpanKey], _ spans: Int, _ verdict: ExportVerdict, _ state: inout DeliveryState
  ) async throws {
    state.isDivided = false
    switch verdict {
    case .delivered:
      state.size.sufficed()
      try await store.confirmSpans(keys)
    case .partial(let rejected, let message) where rejected == 0:
      // The exporter, which knows the address, logs the warning, at most once a minute.
      logger.debug("the tracing backend says of spans: \(message)")
      try await store.confirmSpans(keys)
    case .partial(let rejected, let message):
      // The backend does not say which spans it rejected, so all of them are marked as rejected.
      let text = "\(rejected) of these \(keys.count) were rejected: \(message)"
      logger.error("the tracing backend took only a part: \(text)")
      try await store.rejectSpans(keys, because: text, at: now().moment)
      metrics.spansDropped(Int(clamping: rejected), .rejected)
    case .tooLarge where keys.count > 1: state.isDivided = state.size.wasTooLarge(spans)
    case .tooLarge(let reason), .rejected(let reason):
      logger.error("the tracing backend rejected spans: \(reason)", metadata: ["spans": "\(spans)"])
      try await store.rejectSpans(keys, because: reason, at: now().moment)
      metrics.spansDropped(spans, .rejected)
    case .retry: break
    }
    if case .retry = verdict {
      state.failures += 1
      if state.failures == 1 { logger.warning("the tracing backend takes no spans; they wait in the store") }
    } else {
      if state.failures > 0 { logger.notice("the tracing backend takes spans again") }
      state.failures = 0
    }
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
  /// The last request was too large, and smaller requests follow.
  var isDivided = false
  /// The process is ending: a failed request is tried again soon or not at all.
  let isLast: Bool

  init(_ delivery: SpanDelivery, isLast: Bool = false) {
    size = RequestSize(atMost: delivery.batch.batch)
    self.isLast = isLast
  }
}

extension SpanDelivery {
  /// As many sources as fit into one request, and their spans.
  fileprivate func request(
    of sources: [SpanSource], atMost count: Int, at now: Timestamp
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
