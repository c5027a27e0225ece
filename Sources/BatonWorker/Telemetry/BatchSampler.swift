package import BatonModel

/// Decides which batches of one launch are sent as spans: a value without a clock and without spans. `RunSpan` drives
/// it and performs the effects, in their order.
///
/// A batch is open from the handler's start, or from the commit of the one before, until its own commit. A handler whose
/// loop says when a batch begins (`announced`) has none open between the commit and the next announcement.
package struct BatchSampler: Sendable {
  /// Why the span of a batch is sent: `baton.batch.sample`.
  package enum Reason: String, Hashable, Sendable, CaseIterable {
    case first, last, slow, failed, repeated, drawn
    /// Something was made a child of it.
    case parent
  }

  package enum Effect: Hashable, Sendable {
    /// A batch is open from now on, until it ends, is held or dropped.
    case begin(batch: Int)
    /// The open one begins only now, unless something happened in it already.
    case restart
    /// It ends now, and is sent.
    case end(Reason)
    /// It ends now, and may turn out to be the last.
    case hold
    /// It is none; sent only if it has children.
    case drop
    /// The one that was held is sent.
    case endHeld(Reason)
    /// The one that was held is not the last; sent only if it has children.
    case dropHeld
  }

  package enum End: Hashable, Sendable { case finished, interrupted, failed }

  private struct Open {
    var begunAt: Instant
    var isAnnounced: Bool
    /// Why it is sent, whatever becomes of it.
    var certainty: Reason?
  }

  /// How many batches the launch has committed.
  package private(set) var committed = 0
  private let sampling: BatchSampling
  private let seed: UInt64
  private let firstBatch: Int
  private let repeatsBatch: Bool
  private var open: Open?
  private var isHolding = false
  private var announces = false
  /// A moving average: an eighth of each batch, as TCP has it for round trips
  /// (https://www.rfc-editor.org/rfc/rfc6298#section-2). A slow batch counts as one that is just not slow, so that a
  /// single one does not hide the next.
  private var usual: Duration?

  /// - Parameters:
  ///   - seed: of the draw; the same for all launches of a request.
  ///   - firstBatch: the number of the batch that the launch begins with.
  ///   - repeatsBatch: an earlier launch had begun that batch.
  package init(_ sampling: BatchSampling, seed: UInt64, firstBatch: Int = 0, repeatsBatch: Bool = false) {
    (self.sampling, self.seed, self.firstBatch, self.repeatsBatch) = (sampling, seed, firstBatch, repeatsBatch)
  }

  /// The open batch, or the one that would be open.
  package var batch: Int { firstBatch + committed }

  /// Whether the open batch was announced and is sent whatever becomes of it: another process may then name it as its
  /// parent.
  package var isCertain: Bool { open.map { $0.isAnnounced && $0.certainty != nil } ?? false }

  /// The handler begins; it may be at work on a batch from here on.
  package mutating func begin(at now: Instant) -> [Effect] { open(at: now) }

  /// The handler begins a batch now, and not before.
  package mutating func announced(at now: Instant) -> [Effect] {
    announces = true
    let effects = dropHeld()
    guard open != nil else { return effects + open(at: now) }
    open?.begunAt = now
    open?.isAnnounced = true
    return effects + [.restart]
  }

  /// The open batch is durable.
  package mutating func committed(at now: Instant) -> [Effect] {
    var effects = dropHeld()
    if let open { effects.append(close(open, at: now)) }
    committed += 1
    return announces ? effects : effects + open(at: now)
  }

  /// The handler is through. What is open then was not committed.
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

  /// A stretch of work that nobody announced and nobody committed need not be a batch: with an end that is none, it is
  /// what a handler does after its last one.
  private func ending(_ batch: Open, _ end: End, at now: Instant) -> Effect {
    switch end {
    case .failed: .end(.failed)
    case .interrupted where !batch.isAnnounced: reason(batch, at: now).map { .end($0) } ?? .drop
    case .finished where !batch.isAnnounced: .drop
    case .interrupted, .finished: .end(reason(batch, at: now) ?? .last)
    }
  }

  // MARK: Reasons

  private func reason(_ batch: Open, at now: Instant) -> Reason? {
    switch batch.certainty {
    case .none, .drawn: now - batch.begunAt > slowness ? .slow : batch.certainty
    default: batch.certainty
    }
  }

  private var certainty: Reason? {
    if committed == 0 { return repeatsBatch ? .repeated : .first }
    return isDrawn ? .drawn : nil
  }

  /// By a hash of request and batch, with the finalizer of SplitMix64 (Steele, Lea, Flood, doi:10.1145/2660193.2660195).
  private var isDrawn: Bool {
    guard sampling.interval > 0 else { return false }
    var hash = seed &+ UInt64(batch) &* 0x9e37_79b9_7f4a_7c15
    hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
    hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
    return (hash ^ hash >> 31).isMultiple(of: UInt64(sampling.interval))
  }

  /// What a batch has to take longer than to be slow. The first has nothing to be compared with, and is sent anyway.
  private var slowness: Duration { max(sampling.slowMinimum, (usual ?? .zero) * sampling.slowFactor) }

  private mutating func learn(_ duration: Duration) {
    guard let usual else {
      usual = duration
      return
    }
    self.usual = usual + (min(duration, slowness) - usual) / 8
  }
}
