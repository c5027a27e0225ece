internal import ArgumentParser
internal import BatonModel
internal import BatonSettings
public import BatonTransfers
internal import BatonWire
public import BatonWorker
public import Logging

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A worker as a whole program: what `baton-worker` is, with handlers of your own.
///
/// ```swift
/// @main
/// enum ExampleWorker {
///   static func main() async {
///     await WorkerProgram.main { worker in
///       // …
///       worker.register("com.example.db-cleanup") { task in
///         let purgeable = Array(1...2_000)
///         for try await batch in task.batches(of: purgeable, size: 50) {
///           try await withSpan("delete") { _ in try await purge(batch) }
///         }
///       }
///       // …
///     }
///   }
/// }
/// ```
///
/// The sample is from `Examples/Worker/Main.swift`, a complete program. `Config/worker.yaml` explains every setting.
///
/// **Settings.** `main(beside:_:)` reads the same options, environment variables and worker.yaml as `baton-worker`,
/// with the same messages if something is wrong. To set something in code, make a program, change it, and run it:
///
/// ```swift
/// var program = try await WorkerProgram(file: "/etc/my-worker.yaml")
/// program.configuration.conditions.labels["application"] = "photos"
/// program.configuration.runsCommands = false
/// program.logLevel = .warning
/// exit(await program.run { worker in worker.register("com.example.db-cleanup", handler: cleanUp) })
/// ```
///
/// The sample is from `Examples/Worker/Samples.swift`.
///
/// **Processes.** The program is started several times with the same arguments. The first process is a supervisor,
/// which starts the worker as its child, reports its death to the coordinator, and starts it again. A second child
/// carries out the transfers of the host, if it has any. Only the worker's process calls the closure that registers
/// handlers. What a program does before `run` or `main`, it does in each of the processes.
///
/// **The host's owner.** `baton-worker pause`, `resume` and `status` find this worker, and `baton-worker join` lets it
/// join a fleet, as it does for `baton-worker` itself.
///
/// **Telemetry.** Logs, spans and metrics are set up by the `OTEL_*` variables, as for `baton-worker`. Spans that a
/// handler makes with swift-distributed-tracing are children of its batch, and the lines of its loggers have the trace.
///
/// **Children of handlers.** A process that a handler starts would be taken for what a command has left behind, and
/// killed. In a program with such handlers, set `configuration.ownsProcess` to `false`.
///
/// For a worker that is one service of a larger program, use `Worker` alone.
public struct WorkerProgram: Sendable {
  /// The settings of the worker itself.
  public var configuration: WorkerConfiguration
  /// The settings of the host's transfers; `nil` if the host carries out none.
  public var transfers: TransferSettings?
  /// Where `/healthz` and `/readyz` are served: `HOST:PORT` on loopback; `nil`, the default, for nowhere. Key `http`.
  public var http: String?
  /// Where `/metrics` is served over TLS, for a host that has joined a fleet: `HOST:PORT`; `nil`, the default, for
  /// nowhere. Key `https`.
  public var https: String?
  /// How much is logged to standard error; by default `info`. Key `logLevel`.
  public var logLevel: Logger.Level
  /// Whether the program sets up the logging of its process (`LoggingSystem.bootstrap`), so that all loggers write to
  /// standard error, from `logLevel` on, with the trace of the launch; by default `true`. Set it to `false` in a
  /// program that has set up its logging itself, with the metadata provider `.launch`.
  public var setsUpLogging = true
  /// Whether the program sets up the metrics and the tracing of its process (`MetricsSystem` and
  /// `InstrumentationSystem`) by the `OTEL_*` variables; by default `true`. Set it to `false` in a program that has set
  /// them up itself: its tracer then gets the worker's spans too.
  public var setsUpTelemetry = true
  /// The variables of the environment.
  var environment: [String: String]

  /// A program with settings that were made in code. It has transfers, in the folder `transfers` of the data folder.
  /// - Parameter configuration: the settings of the worker. `endsProcessOnOverrun`, `ownsProcess` and `answersOwner`
  ///   are set to `true`.
  public init(_ configuration: WorkerConfiguration) {
    let data = configuration.dataFolder
    // Launches are told the paths of files in the folder, and have working folders of their own.
    let folder = data.hasPrefix("/") ? data : FileManager.default.currentDirectoryPath + "/" + data
    var transfers = TransferSettings(folder: folder + "/transfers")
    transfers.secretPermissions = configuration.sandbox.secrets ?? []
    transfers.secrets = configuration.sandbox.secretFolder
    self.init(
      configuration, transfers: transfers, logLevel: .info, environment: ProcessInfo.processInfo.environment)
  }

  init(
    _ configuration: WorkerConfiguration, transfers: TransferSettings?, logLevel: Logger.Level,
    environment: [String: String]
  ) {
    self.configuration = configuration
    self.configuration.endsProcessOnOverrun = true
    self.configuration.ownsProcess = true
    self.configuration.answersOwner = true
    (self.transfers, self.logLevel, self.environment) = (transfers, logLevel, environment)
  }

  /// A program with the settings of a worker.yaml and of the environment.
  /// - Parameters:
  ///   - file: the path of a worker.yaml; `nil` takes the one that `BATON_CONFIG` names, or none.
  ///   - environment: the variables, which take precedence over the file; `nil` takes those of this process.
  /// - Throws: `WorkerError` with everything that is wrong, and where.
  public init(
    file: String? = nil, environment: [String: String]? = nil
  ) async throws {
    var options = WorkerOptions()
    options.config = file
    try await self.init(options, environment: environment ?? ProcessInfo.processInfo.environment)
  }

  /// A program with the settings of command-line options, of the environment and of a worker.yaml, in this order of
  /// precedence.
  /// - Parameters:
  ///   - arguments: the options of `baton-worker run`, such as `["--name", "desk"]`.
  ///   - environment: the variables; `nil` takes those of this process.
  /// - Throws: `WorkerError` with everything that is wrong, and where.
  public init(
    arguments: [String], environment: [String: String]? = nil
  ) async throws {
    let options: WorkerOptions
    do { options = try WorkerOptions.parse(arguments) } catch { throw WorkerError(WorkerOptions.message(for: error)) }
    try await self.init(options, environment: environment ?? ProcessInfo.processInfo.environment)
  }
}
