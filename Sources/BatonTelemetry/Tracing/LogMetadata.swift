package import BatonModel
package import Logging
internal import ServiceContextModule

extension Logger.MetadataProvider {
  /// Adds the ids of the current trace and span to every log line that is written within a span, whether the span is
  /// sampled or not.
  package static let spans = Logger.MetadataProvider {
    guard let span = ServiceContext.current?.spanContext else { return [:] }
    return [Names.LogKey.trace: "\(span.trace)", Names.LogKey.span: "\(span.span)"]
  }
}

extension Logger.Metadata {
  /// The metadata of every log line about a launch, in the coordinator and in workers: identifier, request and launch
  /// as `baton show` accepts them, the shard of a request that was divided, and the ids of the launch's span, whether
  /// it is sampled or not.
  /// - Parameter more: further metadata of the log line. If a key is in both, the launch's value is kept.
  package static func launch(_ subject: LaunchSubject, _ more: Logger.Metadata = [:]) -> Logger.Metadata {
    let span = SpanContext(subject.trace)
    var own: Logger.Metadata = [
      Names.LogKey.identifier: "\(subject.identifier)", Names.LogKey.request: "\(subject.request)",
      Names.LogKey.launch: "\(subject.launch)", Names.LogKey.trace: "\(span.trace)", Names.LogKey.span: "\(span.span)",
    ]
    own[Names.LogKey.shard] = subject.shard.map { "\($0)" }
    return own.merging(more) { own, _ in own }
  }

  /// The metadata for the end of a launch: the outcome, and for an expiry its reason. The text of a failure is left
  /// out, because the job chose it; `baton show` shows it.
  package static func end(_ outcome: LaunchOutcome, isGraceful: Bool) -> Logger.Metadata {
    var metadata: Logger.Metadata = [Names.LogKey.launchOutcome: "\(outcome.code)"]
    if case .expired(let reason) = outcome {
      metadata[Names.LogKey.expiryReason] = "\(reason.code)"
      metadata[Names.LogKey.expiryGraceful] = "\(isGraceful)"
    }
    return metadata
  }
}
