import BatonCoordinator
import BatonExporter
import BatonStore
import BatonTelemetry
import BatonWire
import Logging

extension ProcessTelemetry {
  /// Opens the store in `folder` and makes its coordinator, both with the metrics and the traces of this process.
  func coordinator(
    folder: String, _ settings: CoordinatorSettings, _ limits: StoreLimits, logger: Logger
  ) throws -> (SQLiteStore, Coordinator) {
    var settings = settings
    settings.trace(to: telemetry.traces, as: telemetry.resource, telemetry.settings)
    let metrics = CoordinatorMetrics(factory: registry)
    let store = try SQLiteStore.open(folder: folder, limits: limits, queuesSpans: settings.spans != nil) {
      metrics.groupCommit($0, operations: $1)
    }
    let key = try SecretFile.own(folder + "/receipt.key")
    settings.receiptKey = key.secret
    settings.isReceiptKeyNew = key.isNew
    let coordinator = Coordinator(store: store, settings: settings, metrics: metrics, logger: logger)
    registry.collect { [weak coordinator] in await coordinator?.metricFamilies() ?? [] }
    return (store, coordinator)
  }
}
