/// How many spans go in one request, to a backend that may take fewer bytes than they have.
///
/// Halved when a request was too large for it, and a little larger after each that was not: what one huge span made small
/// comes back, and of the requests to a backend with a low limit few are in vain.
package struct RequestSize: Hashable, Sendable {
  /// At least 1.
  package let most: Int
  /// From 1 to `most`.
  package private(set) var spans: Int

  package init(atMost most: Int) {
    self.most = max(1, most)
    spans = self.most
  }

  /// The backend took a request.
  package mutating func sufficed() { spans = min(most, spans + max(1, most / 64)) }

  /// A request of so many was too large.
  /// - Returns: false if there is nothing smaller: it was one.
  package mutating func wasTooLarge(_ count: Int) -> Bool {
    guard count > 1 else { return false }
    spans = min(spans, count / 2)
    return true
  }
}
