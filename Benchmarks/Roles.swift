import BatonBase
import BatonCoordinator
import BatonExporter
import BatonHandler
import BatonIdentity
import BatonModel
import BatonStore
import BatonWire
import BatonWorker
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// The roles of this program's processes in the fleet under test.
enum Role: String {
  case coordinator, worker, idle, crowd, sink, files, transfers, large, rates

  func run(_ arguments: [String]) async throws {
    switch self {
    case .coordinator:
      try await Self.coordinator(data: arguments[0], port: arguments.count > 1 ? Int(arguments[1]) ?? 0 : 0)
    case .worker:
      try await Self.worker(
        coordinators: arguments[0], data: arguments[1], slots: Int(arguments[2]) ?? 1, name: arguments[3])
    case .idle: try await Self.idle(port: arguments[0], data: arguments[1])
    case .crowd: try await CrowdOfWorkers(port: arguments[0], count: Int(arguments[1]) ?? 1).run()
    case .sink: try Sink.run()
    case .files: try FileServing.serve(megabytes: Int(arguments[0]) ?? 1, thought: Int(arguments[1]) ?? 0)
    case .transfers: try await Transfers.run(folder: arguments[0])
    case .large: try await Standing.large(pending: Int(arguments[0]) ?? 0, hosts: Int(arguments[1]) ?? 0)
    case .rates: try await Standing.rates(jobs: Int(arguments[0]) ?? 0)
    }
  }

  /// The variable that makes leases short, for a figure in which a host is lost.
  static let shortLease = "BATON_BENCHMARK_SHORT_LEASE"

  /// - Parameter port: where workers are served; 0 takes a free port.
  private static func coordinator(data: String, port: Int) async throws {
    DescriptorBudget.raise()
    let telemetry = telemetry("baton-coordinator")
    var settings = CoordinatorSettings()
    if ProcessInfo.processInfo.environment[shortLease] != nil { settings.leaseTerm = .seconds(1) }
    settings.trace(
      to: telemetry.telemetry.traces, as: telemetry.telemetry.resource, telemetry.telemetry.settings)
    let address = ProcessInfo.processInfo.environment[BenchmarkDatabase.variable]
    let queuesSpans = settings.spans != nil
    let (store, _) = try StoreMove.open(address.map { .postgres($0) } ?? .folder(data), dataFolder: data) {
      place -> any VerbStore in
      switch place {
      case .postgres(let address):
        try PostgresStore.open(
          address: address, folder: data, limits: StoreLimits(), queuesSpans: queuesSpans, onGroup: nil)
      case .folder: try SQLiteStore.open(folder: data, queuesSpans: queuesSpans)
      }
    }
    let key = try SecretFile.own(data + "/receipt.key")
    (settings.receiptKey, settings.isReceiptKeyNew) = (key.secret, key.isNew)
    let identities = try HostIdentities(
      authorities: try FleetAuthorities.own(dataFolder: data, at: SystemClocks.date()), dataFolder: data)
    settings.identities = identities
    if TLS.isOn {
      // The program under test is the only caller.
      (settings.rates.submissions, settings.rates.changes) = (1_000_000, 1_000_000)
    }
    let coordinator = Coordinator(store: store, settings: settings, logger: logger())
    let server = try CoordinatorServer(
      coordinator: coordinator, identities: identities,
      addresses: CoordinatorServer.Addresses(
        workers: HostPort(host: "127.0.0.1", port: port),
        operators: TLS.isOn ? HostPort(host: "127.0.0.1", port: 0) : nil),
      token: TokenFile.own(dataFolder: data), logger: logger()
    ) { say("port \($0.workers.port)") }
    try await coordinator.restore()
    try await run(server, telemetry)
  }

  private static func telemetry(_ service: String) -> ProcessTelemetry {
    let telemetry = ProcessTelemetry(service, environment: ProcessInfo.processInfo.environment, logger: logger())
    telemetry.bootstrap()
    return telemetry
  }

  /// Runs a worker without work and without probes.
  private static func idle(port: String, data: String) async throws {
    var configuration = WorkerConfiguration(
      coordinator: "127.0.0.1:\(port)", name: "idle", dataFolder: data, slots: 1)
    configuration.conditions.probes = []
    try await run(Worker(configuration, logger: logger()))
  }

  /// - Parameter coordinators: the addresses of the coordinators, separated by commas.
  private static func worker(coordinators: String, data: String, slots: Int, name: String) async throws {
    var configuration = WorkerConfiguration(coordinator: coordinators, name: name, dataFolder: data, slots: slots)
    configuration.ownsProcess = true
    // Probes are off, because the load of the benchmark itself would make the host busy.
    configuration.probesHost = false
    // A benchmark that root runs has commands too.
    configuration.sandbox.allowsRoot = true
    let worker = Worker(configuration, logger: logger())
    worker.register("com.example.bench.noop.*") { _ in }
    worker.register("com.example.bench.grown.*") { _ in }
    worker.register("com.example.bench.start") { task in
      say("start \(task.request) \(SystemClocks.instant().nanoseconds)")
    }
    worker.register("com.example.bench.checkpoint.*") { task in
      let (count, bytes) = try { ($0[0], $0[1]) }(task.payload(as: [Int].self))
      let rest = String(repeating: "x", count: bytes)
      say("begin \(SystemClocks.instant().nanoseconds)")
      // Each cursor is another one, as those of real work are.
      for index in 0..<count {
        try await task.checkpoint("\(index)-\(rest)", completed: Int64(index), of: Int64(count))
      }
      say("end \(SystemClocks.instant().nanoseconds)")
    }
    worker.register("com.example.bench.spread") { task in
      let (count, milliseconds) = try { ($0[0], $0[1]) }(task.payload(as: [Int].self))
      for try await _ in task.batches(of: 0..<count, size: 1) {
        try await Task.sleep(for: .milliseconds(milliseconds))
      }
    }
    // Goes on until the fleet is stopped.
    worker.register("com.example.bench.endless.*") { task in
      for index in 0..<Int64.max {
        try await task.checkpoint(index, completed: index)
        say("checkpoint \(task.launch) \(SystemClocks.instant().nanoseconds)")
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    let telemetry = telemetry("baton-worker")
    try await run(worker, telemetry)
  }

  private static func run(_ service: any Service, _ telemetry: ProcessTelemetry? = nil) async throws {
    try await ServiceGroup(
      services: (telemetry?.services ?? []) + [service], gracefulShutdownSignals: [.sigterm], logger: logger()
    ).run()
  }

  static func logger() -> Logger {
    var logger = Logger(label: "bench") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .error
    return logger
  }
}
