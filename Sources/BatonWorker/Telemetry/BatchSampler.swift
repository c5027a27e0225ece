package import BatonModel

/// Decides which batches of one launch are sent as spans. It is a value without a clock; `RunSpan` owns it and performs
/// its effects, in their order.
///
/// A batch is open from the start of the handler, or from the commit of the batch before, until its own commit. If the
/// handler announces its batches (`announced`), no batch is open between a commit and the next announcement.
package struct BatchSampler: Sendable {
  /// Why the span of a batch is sent. It is the value of the attribute `baton.batch.sample`.
  package enum Reason: String, Hashable, Sendable, CaseIterable {
    case first, last, slow, failed, repeated, drawn
    /// The batch's span is the parent of another span.
    case parent
  }

  package enum Effect: Hashable, Sendable {
    /// A batch is open from now on, until it is ended, held or dropped.
    case begin(batch: Int)
    /// The open batch begins only now, unless its span already has children.
    case restart
    /// The open batch ends now and is sent.
    case end(Reason)
    /// The open batch ends now. It is sent later if it turns out to be the last one.
    case hold
    /// What was open was not a batch. Its span is sent only if it has children.
    case drop
    /// The held batch is sent.
    case endHeld(Reason)
    /// The held batch was not the last one. Its span is sent only if it has children.
    case dropHeld
  }

  package enum End: Hashable, Sendable { case finished, interrupted, failed }

  private struct Open {
    var begunAt: Instant
    var isAnnounced: Bool
    /// The reason for which this batch is sent in any case; `nil` if that is not decided yet.
    var certainty: Reason?
  }

  /// The number of batches that the launch has committed.
  package private(set) var committed = 0
  private let sampling: BatchSampling
  private let seed: UInt64
  private let firstBatch: Int
  private let repeatsBatch: Bool
  private var open: Open?
  private var isHolding = false
  private var announces = false
  /// The usual duration of a batch: a moving average in which each batch has a weight of one eighth, as for round trips
  /// of TCP (https://www.rfc-editor.org/rfc/rfc6298#section-2). A slow batch counts with the longest duration that is
  /// not slow, so that a single slow batch does not hide the next one.
  private var usual: Duration?

  /// - Parameters:
  ///   - sampling: which batches are sent.
  ///   - seed: the seed of the random choice. It is the same for all launches of a request.
  ///   - firstBatch: the number of the launch's first batch.
  ///   - repeatsBatch: whether an earlier launch had already begun that batch.
  package init(_ sampling: BatchSampling, seed: UInt64, firstBatch: Int = 0, repeatsBatch: Bool = false) {
    (self.sampling, self.seed, self.firstBatch, self.repeatsBatch) = (sampling, seed, firstBatch, repeatsBatch)
  }

  /// The number of the open batch, or of the next one if no batch is open.
  package var batch: Int { firstBatch + committed }

  /// Whether the open batch was announced and will be sent in any case. Another process may then use its span as a
  /// parent.
  package var isCertain: Bool { open.map { $0.isAnnounced && $0.certainty != nil } ?? false }

  /// The handler begins. It may work on a batch from now on.
  package mutating func begin(at now: Instant) -> [Effect] { open(at: now) }

  /// The handler begins a batch now. What it did before this call does not belong to the batch.
  package mutating func announced(at now: Instant) -> [Effect] {
    announces = true
    let effects = dropHeld()
    guard open != nil else { return effects + open(at: now) }
    open?.begunAt = now
    open?.isAnnounced = true
    return effects + [.restart]
  }

  /// The open batch has been committed.
  package mutating func committed(at now: Instant) -> [Effect] {
    var effects = dropHeld()
    if let open { effects.append(close(open, at: now)) }
    committed += 1
    return announces ? effects : effects + open(at: now)
  }

  /// The handler has ended. What is open at this time was not committed.
  package mutating func end(_ end: End, at now: Instant) -> [Effect] {
    var effects: [Effect] = isHolding ? [.endHeld(.last)] : []
    isHolding = false
    if let open { effects.append(ending(open, end, at: now)) }
    open = nil
    return effects
  }

  private mutating func open(at now: Instant) -> [Effect] {
    open = Open(begunAt: now, isAnnounced: announces, certainty: certainty)
    return [.begin(batch: batch)]
  }

  private mutating func close(_ batch: Open, at now: Instant) -> Effect {
    let reason = reason(batch, at: now)
    learn(now - batch.begunAt)
    open = nil
    if let reason { return .end(reason) }
    isHolding = true
    return .hold
  }

  private mutating func dropHeld() -> [Effect] {
    defer { isHolding = false }
    return isHolding ? [.dropHeld] : []
  }

  /// The effect for the open batch when the handler ends. A batch that was announced, or that failed, is sent. Work
  /// that was neither announced nor committed need not be a batch: after a normal end it is what the handler did after
  /// its last batch, and is dropped. After an interruption it is sent only if there is a reason for it.
  private func ending(_ batch: Open, _ end: End, at now: Instant) -> Effect {
    switch end {
    case .failed: .end(.failed)
    case .interrupted where !batch.isAnnounced: reason(batch, at: now).map { .end($0) } ?? .drop
    case .finished where !batch.isAnnounced: .drop
    case .interrupted, .finished: .end(reason(batch, at: now) ?? .last)
    }
  }

  // MARK: Reasons

  /// Why the batch is sent; `nil` if there is no reason so far.
  private func reason(_ batch: Open, at now: Instant) -> Reason? {
    switch batch.certainty {
    case .none, .drawn: now - batch.begunAt > slowness ? .slow : batch.certainty
    default: batch.certainty
    }
  }

  /// The reason that is known when a batch begins.
  private var certainty: Reason? {
    if committed == 0 { return repeatsBatch ? .repeated : .first }
    return isDrawn ? .drawn : nil
  }

  /// Chooses one batch in `BatchSampling.interval` by a hash of request and batch.
  private var isDrawn: Bool {
    guard sampling.interval > 0 else { return false }
    let hash = SplitMix64.mixed(seed &+ UInt64(batch) &* SplitMix64.increment)
    return hash.isMultiple(of: UInt64(sampling.interval))
  }

  /// A batch is slow if it takes longer than this. For the first batch there is no usual duration yet, but the first
  /// batch is sent in any case.
  private var slowness: Duration { max(sampling.slowMinimum, (usual ?? .zero) * sampling.slowFactor) }

  private mutating func learn(_ duration: Duration) {
    guard let usual else {
      usual = duration
      return
    }
    self.usual = usual + (min(duration, slowness) - usual) / 8
  }
}
