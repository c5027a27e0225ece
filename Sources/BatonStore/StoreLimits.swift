package import BatonModel

/// The limits that a store enforces. Each of them except the last two has a key in the coordinator's configuration.
package struct StoreLimits: Hashable, Sendable {
  /// The largest number of pending requests (scheduled or ready) in the store (`limits.pending`).
  package var pending: Int
  /// The largest number of pending requests of a definition that sets no `pendingLimit`
  /// (`limits.pendingPerDefinition`).
  package var pendingPerDefinition: Int
  /// The largest cursor of a checkpoint, in bytes (`limits.checkpointBytes`).
  package var checkpointBytes: Int
  /// The number of writes that may wait (`limits.waitingWrites`). When half of this number waits, lists are refused
  /// with `.overloaded`; at three quarters submissions are refused, at seven eighths claims, and at the full number
  /// progress. Checkpoints, expiries and endings are refused only at 16 times this number.
  package var waitingWrites: Int
  /// What follows a lost launch and a launch that commits nothing (`losses.quarantineAfter`, `losses.backoff`).
  package var losses: LossRule

  /// The namespaces of the fleet, with their quotas (`namespaces`, `limits.useHalfLife`).
  package var namespaces = Namespaces()
  /// Who is told of what, besides those whom definitions name (`notify`).
  package var notify = NotifyRule()
  /// How soon transfers launch their request again.
  package var transferLaunches = TransferLimiter.Rules()

  /// The largest number of items of one request, over all pages.
  package var items: Int
  /// The largest size of all items of one request as they are stored, in bytes.
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
