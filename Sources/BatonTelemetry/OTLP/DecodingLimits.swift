/// What bounds the reading of a `TraceRequest`, so that a peer decides neither the memory nor the time that it takes.
/// What has more is refused as a whole.
package struct DecodingLimits: Hashable, Sendable {
  /// Bytes of the whole message.
  package var bytes: Int
  package var spans: Int
  /// Attributes of one span, event, link or resource, and elements of one list.
  package var attributes: Int
  /// Events of one span.
  package var events: Int
  /// Links of one span.
  package var links: Int

  package init(
    bytes: Int = 16 << 20, spans: Int = 65_536, attributes: Int = 1_024, events: Int = 4_096, links: Int = 1_024
  ) {
    (self.bytes, self.spans, self.attributes) = (bytes, spans, attributes)
    (self.events, self.links) = (events, links)
  }
}
