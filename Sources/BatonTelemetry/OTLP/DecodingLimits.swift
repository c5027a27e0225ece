/// The limits for decoding a `TraceRequest`, so that the sender of a message cannot decide how much memory and time its
/// decoding takes. A message that exceeds a limit is refused as a whole.
package struct DecodingLimits: Hashable, Sendable {
  /// The size of the whole message, in bytes.
  package var bytes: Int
  package var spans: Int
  /// The number of attributes of one span, event, link or resource, and of elements in one array.
  package var attributes: Int
  /// The number of events of one span.
  package var events: Int
  /// The number of links of one span.
  package var links: Int

  package init(
    bytes: Int = 16 << 20, spans: Int = 65_536, attributes: Int = 1_024, events: Int = 4_096, links: Int = 1_024
  ) {
    (self.bytes, self.spans, self.attributes) = (bytes, spans, attributes)
    (self.events, self.links) = (events, links)
  }
}
