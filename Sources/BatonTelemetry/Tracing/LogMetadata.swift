package import Logging
internal import ServiceContextModule

extension Logger.MetadataProvider {
  /// Every log line that is written within a span has its trace and span, sampled or not.
  package static let spans = Logger.MetadataProvider {
    guard let span = ServiceContext.current?.spanContext else { return [:] }
    return [Names.LogKey.trace: "\(span.trace)", Names.LogKey.span: "\(span.span)"]
  }
}
