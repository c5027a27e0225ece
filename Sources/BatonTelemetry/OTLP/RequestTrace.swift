package import BatonModel

/// The trace of one request as far as the store knows it: its submission, waits, launches, expiries and completion.
package struct RequestTrace: Hashable, Sendable {
  /// By start, and a parent before its children.
  package var spans: [SpanRecord]
  /// Those that go on: their `end` is `asOf`, and they have no outcome yet.
  package var open: Set<SpanID>
  /// When it was read.
  package var asOf: Timestamp

  package init(spans: [SpanRecord], open: Set<SpanID> = [], asOf: Timestamp) {
    (self.spans, self.open, self.asOf) = (spans, open, asOf)
  }
}
