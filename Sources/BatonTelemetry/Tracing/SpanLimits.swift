/// The limits of one span. The counts are the specification's defaults
/// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#span-limits). Events and links
/// beyond a limit are left out. Of too many attributes, those that come first in the order of their keys are kept when
/// the span ends.
package struct SpanLimits: Hashable, Sendable {
  package var attributes = 128
  package var events = 128
  package var links = 128
  package var attributesPerEvent = 128
  package var attributesPerLink = 128
  /// The largest number of Unicode scalars of a text value, and of the name of a span or event. The specification has
  /// no limit here. This limit is Baton's (Documentation/reference/limits.md): a handler that puts a document into an
  /// attribute must not fill the memory of the span queue.
  package var valueLength = 4096
  /// The largest number of elements of an array value. The specification has no limit here; this limit is Baton's.
  package let elements = 128

  /// `text`, cut off after `valueLength` Unicode scalars.
  func clipped(_ text: String) -> String {
    guard text.utf8.count > valueLength else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(valueLength)))
  }
}
