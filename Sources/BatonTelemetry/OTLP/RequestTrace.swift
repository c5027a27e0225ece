package import BatonModel

/// The trace of one request as the store knows it: the spans of its submission, waits, launches, expiries and
/// completion. The coordinator makes it for `baton trace`.
package struct RequestTrace: Hashable, Sendable {
  /// The spans in the order of time, each parent before its children.
  package var spans: [SpanRecord]
  /// The ids of the spans that have not ended yet. Their `end` is `asOf`, and they have no outcome.
  package var open: Set<SpanID>
  /// When the trace was read from the store.
  package var asOf: Timestamp

  package init(spans: [SpanRecord], open: Set<SpanID> = [], asOf: Timestamp) {
    (self.spans, self.open, self.asOf) = (spans, open, asOf)
  }
}
