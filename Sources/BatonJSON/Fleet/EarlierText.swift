package import BatonCoordinator
package import BatonModel
package import BatonStore

/// The waiting requests of a pattern that keep another text than the one that is applied for it.
package struct EarlierText: Sendable {
  package var count = 0
  /// The first of them.
  package var named: [RequestName] = []

  /// The versions that they keep, as far as these are known.
  package var versions: [Int] = []

  package init() {}

  /// The most requests that are named; the others are counted.
  package static let mostNamed = 10
  private static let pageSize = 500
  /// The most pages that are read of one pattern. Requests that were submitted long ago stand on the first ones.
  private static let mostPages = 20

  /// - Parameter isEarlier: whether a waiting request of the pattern keeps another text.
  package static func find(
    _ pattern: IdentifierPattern, _ api: any OperatorAPI,
    where isEarlier: (RequestRecord) async throws -> Bool
  ) async throws -> Self {
    let filter = RequestFilter(states: [.scheduled, .ready], pattern: pattern)
    var (found, after): (Self, RequestID?) = (Self(), nil)
    for _ in 0..<mostPages {
      let page = try await api.requests(filter, after: after, limit: pageSize)
      let before = found.count
      for record in page where record.pattern == pattern {
        guard try await isEarlier(record) else { continue }
        found.count += 1
        if found.named.count < mostNamed { found.named.append(record.name) }
      }
      // The list begins with the oldest requests, and what was submitted later has the later text.
      guard page.count == pageSize, found.count > before, let last = page.last else { break }
      after = last.id
    }
    return found
  }
}
