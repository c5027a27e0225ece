/// When a launch without progress is suspected to have stalled, and when it is asked to stop (contract, row 32).
package enum Stall {
  /// How many times a definition's usual batch a launch may take for one.
  package static let patience = 5

  /// The longest that a launch may run without progress before it is suspected; at twice that it expires `stalled`.
  /// nil: the launch is not watched for stalls. Heartbeats, texts and output are not progress.
  ///
  /// A command in one piece shows no progress until it keeps a cursor, so it is watched only from then on, or if the
  /// definition says `stallAfter`.
  /// - Parameters:
  ///   - usualBatch: the 95th percentile of the definition's batches, once it is known.
  ///   - keepsCursor: the request has committed a batch.
  package static func suspicion(
    of definition: Definition, usualBatch: Duration?, keepsCursor: Bool
  ) -> Duration? {
    let byKind = definition.isInOnePiece && !keepsCursor ? nil : definition.kind.defaultStallAfter
    guard let least = definition.stallAfter ?? byKind else { return nil }
    return max(least, (usualBatch ?? .zero) * patience)
  }
}

/// How long the batches of a definition take, learnt from the last ones: a value of a bounded size.
package struct Pace: Hashable, Sendable {
  /// The 95th percentile of the last batches; nil while too few were seen, here or by an earlier process.
  package private(set) var usualBatch: Duration?
  private var samples: [Duration] = []
  private var count = 0

  /// Before so many batches were seen nothing is known.
  package static let leastSamples = 20
  private static let capacity = 200
  /// The percentile is taken again after so many new batches.
  private static let step = 10

  /// - Parameter inherited: what an earlier process had learnt; it holds until enough is known here.
  package init(inherited: Duration? = nil) { usualBatch = inherited }

  package mutating func add(_ batch: Duration) {
    if samples.count < Self.capacity { samples.append(batch) } else { samples[count % Self.capacity] = batch }
    count += 1
    guard count >= Self.leastSamples, count.isMultiple(of: Self.step) else { return }
    usualBatch = samples.sorted()[(samples.count * 95 + 99) / 100 - 1]
  }
}
