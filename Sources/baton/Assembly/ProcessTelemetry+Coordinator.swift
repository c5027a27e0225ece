import BatonCommands
import BatonCoordinator
import BatonDoctor
import BatonExporter
import BatonIdentity
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ProcessTelemetry {
  /// Opens the store and makes its coordinator, both with the metrics and the traces of this process.
  /// - Parameter folder: the data folder, which has the store unless `postgres` says where it is.
  /// - Parameter identities: reads the identities of hosts from the folder, once the store is open.
  /// - Throws: `CommandFailure` with status 78 if the store cannot be opened before a person has done something, for
  ///   example because a newer version wrote it, or if the files of the fleet's authority cannot be used; otherwise the
  ///   error of the store.
  func coordinator(
    folder: String, postgres: String? = nil, _ settings: CoordinatorSettings, _ limits: StoreLimits,
    identities: () throws -> HostIdentities? = { nil }, logger: Logger
  ) throws -> (any VerbStore, Coordinator) {
    var settings = settings
    settings.trace(to: telemetry.traces, as: telemetry.resource, telemetry.settings)
    let metrics = CoordinatorMetrics(factory: registry)
    let store: any VerbStore
    do {
      let (queuesSpans, report) = (settings.spans != nil, { metrics.groupCommit($0, operations: $1) } as GroupReport)
      let set = postgres.map { StorePlace.postgres($0) } ?? .folder(folder)
      let opened = try StoreMove.open(set, dataFolder: folder) { place -> any VerbStore in
        switch place {
        case .postgres(let address):
          try PostgresStore.open(
            address: address, folder: folder, limits: limits, queuesSpans: queuesSpans, onGroup: report)
        case .folder:
          try SQLiteStore.open(folder: folder, limits: limits, queuesSpans: queuesSpans, onGroup: report)
        }
      }
      store = opened.0
      if let change = (store as? PostgresStore)?.history?.change {
        logger.warning(
          """
          \(change); what was acknowledged last may be missing: coordinators and workers that live notice what they \
          miss, and the fleet is then paused
          """)
      }
      if opened.at != set { Self.warn(thatTheStoreIsAt: opened.at, logger) }
    } catch let error as StoreError where error.needsMending {
      // The status tells a service manager not to start this coordinator again.
      throw CommandFailure(.needsMending, error.message.onOneLine)
    }
    do {
      let hasAuthority = FileManager.default.fileExists(atPath: FleetAuthorities.path(dataFolder: folder))
      let key = try SecretFile.own(folder + "/receipt.key")
      settings.receiptKey = key.secret
      settings.isReceiptKeyNew = key.isNew
      try (store as? PostgresStore)?.demand(
        fleet: ReceiptSeal(key.secret).fleet, folder: folder,
        PostgresStore.FleetFiles(hasKey: !key.isNew, hasAuthority: hasAuthority))
      // The store's lock keeps other coordinators from making an authority of their own.
      settings.identities = try identities()
    } catch {
      (store as? PostgresStore)?.abandon()
      switch error {
      case let error as IdentityError: throw CommandFailure(.needsMending, error.description.onOneLine)
      case let error as StoreError where error.needsMending:
        throw CommandFailure(.needsMending, error.message.onOneLine)
      default: throw error
      }
    }
    let coordinator = Coordinator(store: store, settings: settings, metrics: metrics, logger: logger)
    registry.collect { [weak coordinator] in await coordinator?.metricFamilies() ?? [] }
    if store is SQLiteStore { registry.collect { Self.freeSpace(of: folder) } }
    return (store, coordinator)
  }

  /// The free space where the store is, as this user may use it; empty if the system does not say it.
  private static func freeSpace(of folder: String) -> [MetricFamily] {
    guard let bytes = FolderProbe.room(of: folder)?.freeBytes else { return [] }
    return [MetricFamily(Names.Metric.storeFree, Double(bytes))]
  }

  /// The settings name the place that the store had before a move.
  private static func warn(thatTheStoreIsAt place: StorePlace, _ logger: Logger) {
    let setting = if case .postgres(let address) = place { address } else { "sqlite" }
    logger.warning(
      """
      the store has moved, and this coordinator uses it where it is now: write 'store: \(setting)' into \
      coordinator.yaml, or set BATON_STORE
      """)
  }
}

extension StoreError {
  /// Whether the store stays unusable until a person does something, so that another attempt cannot help.
  fileprivate var needsMending: Bool {
    switch code {
    case .refused, .newerVersion, .corrupt: true
    case .notFound, .locked, .cannotWrite, .unknown, .superseded, .overloaded, .wentBackwards, .moved, .unavailable,
      .relocated:
      false
    }
  }
}
