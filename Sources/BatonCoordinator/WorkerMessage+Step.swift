package import BatonModel

extension WorkerMessage {
  /// The launch and the step of progress that this message reports; nil if the message reports no progress.
  package var step: (LaunchKey, Dispatcher.Step)? {
    switch self {
    case .checkpoint(let checkpoint):
      (checkpoint.launch, .batch(checkpoint.batch, completed: checkpoint.completedUnits, of: checkpoint.totalUnits))
    case .items(let page): (page.launch, .items)
    case .update(let update):
      update.completedUnits.map { (update.launch, .units(completed: $0, of: update.totalUnits)) }
    case .hello, .heartbeat, .conditions, .itemsWanted, .output, .expiring, .overran, .ended, .submission, .draining,
      .transfers:
      nil
    }
  }
}
