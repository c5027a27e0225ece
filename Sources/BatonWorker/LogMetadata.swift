internal import BatonTelemetry
public import Logging

extension Logger.MetadataProvider {
  /// Gives each line that a handler writes `trace_id` and `span_id`: the trace of its request, and the span that the line is
  /// written in. A line that is written outside of a launch gets nothing.
  ///
  /// Name it where the program's logging is set up:
  ///
  /// ```swift
  /// LoggingSystem.bootstrap({ label, provider in
  ///   StreamLogHandler.standardError(label: label, metadataProvider: provider)
  /// }, metadataProvider: .launch)
  /// ```
  public static var launch: Logger.MetadataProvider { .spans }
}
