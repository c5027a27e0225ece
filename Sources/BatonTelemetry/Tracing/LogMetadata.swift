package import BatonModel
package import Logging
internal import ServiceContextModule

extension Logger.MetadataProvider {
  /// Every log line that is written within a span has its trace and span, sampled or not.
  package static let spans = Logger.MetadataProvider {
    guard let span = ServiceContext.current?.spanContext else { return [:] }
    return [Names.LogKey.trace: "\(span.trace)", Names.LogKey.span: "\(span.span)"]
  }
}

extension Logger.Metadata {
  /// The metadata of every log line about a launch, in the coordinator and in workers: identifier, request and launch as
  /// `baton show` takes them, and the ids of the launch's span, sampled or not.
  /// - Parameter more: what else the line says; a key that both have keeps the launch's value.
  package static func launch(_ subject: LaunchSubject, _ more: Logger.Metadata = [:]) -> Logger.Metadata {
    let span = SpanContext(subject.trace)
    let own: Logger.Metadata = [
      Names.LogKey.identifier: "\(subject.identifier)", Names.LogKey.request: "\(subject.request)",
      Names.LogKey.launch: "\(subject.launch)", Names.LogKey.trace: "\(span.trace)", Names.LogKey.span: "\(span.span)",
    ]
    return own.merging(more) { own, _ in own }
  }

  /// How a launch ended, for its log lines: the outcome, and of an expiry its reason. The text of a failure is not in
  /// it: a job wrote that, and `baton show` has it.
  package static func end(_ outcome: LaunchOutcome, isGraceful: Bool) -> Logger.Metadata {
    var metadata: Logger.Metadata = [Names.LogKey.launchOutcome: "\(outcome.code)"]
    if case .expired(let reason) = outcome {
      metadata[Names.LogKey.expiryReason] = "\(reason.code)"
      metadata[Names.LogKey.expiryGraceful] = "\(isGraceful)"
    }
    return metadata
  }
}
