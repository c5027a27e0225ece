/// How many spans are put into one request, adapted to a backend that limits the size of a request in bytes.
///
/// The number is halved when a request was too large, and grows a little after each request that was not. So it
/// recovers after a single huge span, and a backend with a low limit refuses only a few requests.
package struct RequestSize: Hashable, Sendable {
  /// The largest number of spans in a request; at least 1.
  package let most: Int
  /// The number of spans to put into the next request, from 1 to `most`.
  package private(set) var spans: Int

  package init(atMost most: Int) {
    self.most = max(1, most)
    spans = self.most
  }

  /// The backend took a request: the number grows.
  package mutating func sufficed() { spans = min(most, spans + max(1, most / 64)) }

  /// A request of `count` spans was too large: the number shrinks to at most half of `count`.
  /// - Returns: false if the request had only one span, so that it cannot be divided.
  package mutating func wasTooLarge(_ count: Int) -> Bool {
    guard count > 1 else { return false }
    spans = min(spans, count / 2)
    return true
  }
}
