internal import BatonExporter
internal import BatonTelemetry
internal import BatonWorker
public import Logging
public import ServiceLifecycle

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Baton's tracer, its metrics and their exporters, for a program that runs a `Worker` as one of its services. A
/// `WorkerProgram` sets them up by itself.
///
/// ```swift
/// let telemetry = WorkerTelemetry(logger: logger)
/// telemetry.bootstrap()
/// let group = ServiceGroup(
///   services: telemetry.services + [worker], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
/// ```
///
/// The sample is from `Examples/Worker/Samples.swift`.
///
/// The `OTEL_*` variables say what is sent, and where to; `Documentation/how-to/traces.md` lists them. Without one of
/// them nothing is sent, and spans cost nothing. With Baton's tracer, a span that a handler makes is a child of the
/// batch that is at work.
public struct WorkerTelemetry: Sendable {
  private let process: ProcessTelemetry

  /// Reads the settings. A variable that cannot be used is logged as a warning.
  /// - Parameters:
  ///   - environment: the variables; `nil` takes those of this process.
  ///   - logger: the logger for warnings, also for those about the backend.
  public init(environment: [String: String]? = nil, logger: Logger) {
    process = ProcessTelemetry(
      "baton-worker", environment: environment ?? ProcessInfo.processInfo.environment, logger: logger)
  }

  /// Installs the tracer and the metrics for the whole process (`InstrumentationSystem.bootstrap` and
  /// `MetricsSystem.bootstrap`). Call it once, before anything is traced or counted.
  public func bootstrap() { process.bootstrap() }

  /// The services that send spans and metrics. Let them start before the worker, and so end after it: then they send
  /// what is left.
  public var services: [any Service] { process.services }

  /// Asks to send what waits, and does not wait for the backend.
  public func flush() { process.flush() }

  /// The variables with which nothing is sent.
  static let none = ["OTEL_SDK_DISABLED": "true"]

  var reader: MetricsReader { process.reader }

  /// Lets the metrics have those of a worker.
  func collect(_ worker: Worker) { process.registry.collect { [weak worker] in worker?.metricFamilies ?? [] } }
}
