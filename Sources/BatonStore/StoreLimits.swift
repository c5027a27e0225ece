package import BatonModel

/// What a store refuses to exceed. Each but the last two has a key in the coordinator's configuration.
package struct StoreLimits: Hashable, Sendable {
  /// Requests that may be pending (scheduled or ready) in all (`limits.pending`).
  package var pending: Int
  /// Requests that may be pending per definition that sets no `pendingLimit` (`limits.pendingPerDefinition`).
  package var pendingPerDefinition: Int
  /// Largest cursor of a checkpoint, in bytes (`limits.checkpointBytes`).
  package var checkpointBytes: Int
  /// Writes that may wait (`limits.waitingWrites`). With half of them lists are refused with `.overloaded`, with three
  /// quarters submissions, with seven eighths claims, with all of them progress; checkpoints, expiry and endings never.
  package var waitingWrites: Int
  /// How launches that come to nothing are answered (`losses.quarantineAfter`, `losses.backoff`).
  package var losses: LossRule

  /// Items of one request, over all pages.
  package var items: Int
  /// Bytes of the items of one request, as they are stored.
  package var itemBytes: Int

  package init(
    pending: Int = 2_000_000, pendingPerDefinition: Int = 100_000,
    checkpointBytes: Int = Checkpoint.maximumCursorBytes, waitingWrites: Int = 4096,
    losses: LossRule = LossRule(), items: Int = ItemPage.maximumTotal,
    itemBytes: Int = ItemPage.maximumTotalBytes
  ) {
    self.pending = pending
    self.pendingPerDefinition = pendingPerDefinition
    self.checkpointBytes = checkpointBytes
    self.waitingWrites = waitingWrites
    self.losses = losses
    self.items = items
    self.itemBytes = itemBytes
  }
}
