package import BatonModel

/// What a store knows of the spans of requests, and of those that no backend has taken yet.
package protocol SpanStore: Sendable {
  /// The spans that are not confirmed yet, those of the oldest requests first, at most `limit` occasions. Only a store
  /// that was opened with `queuesSpans` has any, and only for requests that are sampled.
  func unsentSpans(limit: Int) async throws -> [SpanSource]
  /// Removes spans from the queue, because a backend has confirmed them.
  func confirmSpans(_ keys: [SpanKey]) async throws
  /// Removes spans from the queue, because a backend will never accept them. They are counted as rejected for as long
  /// as their request is kept.
  func rejectSpans(_ keys: [SpanKey], because message: String, at now: Moment) async throws
  /// Removes the spans of requests that ended before `time`, on the steady clock, and the oldest ones beyond `count`,
  /// from the queue in one small step.
  /// - Returns: how many occasions were removed, at most `limit`.
  func dropUnsentSpans(endedBefore time: Timestamp, beyond count: Int, limit: Int) async throws -> Int
  /// How many spans wait to be sent, and how many were rejected.
  func spanQueue() async throws -> SpanQueueRecord
  /// All spans of a request, confirmed or not, in the order of time; empty if the request is not kept.
  func spans(of request: RequestID) async throws -> [SpanSource]
}
