/// What bounds one span. Counts: the specification's defaults
/// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#span-limits). What is over a
/// limit is left out, the oldest stay.
package struct SpanLimits: Hashable, Sendable {
  package var attributes = 128
  package var events = 128
  package var links = 128
  package var attributesPerEvent = 128
  package var attributesPerLink = 128
  /// Unicode scalars of a text, and of a span's or event's name. The specification has no limit; this one is Baton's
  /// (Documentation/limits.md): a handler that puts a document into an attribute must not fill the queue's memory.
  package var valueLength = 4096
  /// Elements of an array. The specification has no limit; this is Baton's.
  package let elements = 128

  package init() {}

  /// `text`, cut off after `valueLength`.
  func clipped(_ text: String) -> String {
    guard text.utf8.count > valueLength else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(valueLength)))
  }
}
