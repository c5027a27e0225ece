package import BatonModel

extension WorkerMessage {
  /// What counts as progress of a launch.
  package var step: (LaunchKey, Dispatcher.Step)? {
    switch self {
    case .checkpoint(let checkpoint):
      (checkpoint.launch, .batch(checkpoint.batch, completed: checkpoint.completedUnits, of: checkpoint.totalUnits))
    case .items(let page): (page.launch, .items)
    case .update(let update):
      update.completedUnits.map { (update.launch, .units(completed: $0, of: update.totalUnits)) }
    case .hello, .heartbeat, .conditions, .itemsWanted, .output, .expiring, .overran, .ended, .draining: nil
    }
  }
}
