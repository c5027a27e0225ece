internal import BatonTelemetry
public import Logging

extension Logger.MetadataProvider {
  /// Adds `trace_id` and `span_id` to each log line that a handler writes: the trace of its request, and the span in
  /// which the line is written. The lines have them whether or not the request's trace is sampled. Lines that are
  /// written outside of a launch get nothing.
  ///
  /// Pass it to the bootstrap of the program's logging, before the first logger is made:
  ///
  /// ```swift
  /// LoggingSystem.bootstrap(
  ///   { StreamLogHandler.standardError(label: $0, metadataProvider: $1) }, metadataProvider: .launch)
  /// ```
  ///
  /// The sample is from `Examples/Worker/Samples.swift`. A `WorkerProgram` does it by itself.
  public static var launch: Logger.MetadataProvider { .spans }
}
