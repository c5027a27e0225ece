/// Decides how long a launch may run without progress (contract, row 32). After that time it is suspected to have
/// stalled; after twice that time it expires.
package enum Stall {
  /// A launch may take this many times the definition's usual batch for one batch.
  package static let patience = 5

  /// The longest that a launch may run without progress before it is suspected. At twice that time it expires
  /// `stalled`. `nil` means that the launch is not watched for stalls. Heartbeats, texts and output are not progress.
  ///
  /// A command in one piece shows no progress until it keeps a cursor. It is watched only from then on, or if the
  /// definition has `stallAfter`.
  /// - Parameters:
  ///   - usualBatch: the 95th percentile of the definition's batches; `nil` while it is unknown.
  ///   - keepsCursor: whether the request has committed a batch.
  package static func suspicion(
    of definition: Definition, usualBatch: Duration?, keepsCursor: Bool
  ) -> Duration? {
    let byKind = definition.isInOnePiece && !keepsCursor ? nil : definition.kind.defaultStallAfter
    guard let least = definition.stallAfter ?? byKind else { return nil }
    return max(least, (usualBatch ?? .zero) * patience)
  }
}

/// How long the batches of a definition take, measured over the last 200 batches. The value has a bounded size.
package struct Pace: Hashable, Sendable {
  /// The 95th percentile of the last batches; `nil` while too few batches were seen, by this process and by earlier
  /// ones.
  package private(set) var usualBatch: Duration?
  private var samples: [Duration] = []
  private var count = 0

  /// The number of batches that must be seen before the percentile is computed.
  package static let leastSamples = 20
  private static let capacity = 200
  /// The percentile is computed again after this number of new batches.
  private static let step = 10

  /// - Parameter inherited: the percentile that an earlier process computed. It is used until this process has seen
  ///   enough batches.
  package init(inherited: Duration? = nil) { usualBatch = inherited }

  package mutating func add(_ batch: Duration) {
    if samples.count < Self.capacity { samples.append(batch) } else { samples[count % Self.capacity] = batch }
    count += 1
    guard count >= Self.leastSamples, count.isMultiple(of: Self.step) else { return }
    usualBatch = samples.sorted()[(samples.count * 95 + 99) / 100 - 1]
  }
}
