package import BatonModel

extension Store {
  package func page(of filter: RequestFilter, after: RequestID?, limit: Int) async throws -> ListedRequests {
    try await page(of: filter, after: after, limit: limit, window: Verbs.listWindow)
  }

  /// The requests that match the filter, in its order, at most `limit`, however many pages that takes.
  package func requests(_ filter: RequestFilter, after: RequestID?, limit: Int) async throws -> [RequestRecord] {
    try await filter.whole(after: after, limit: limit) { try await page(of: filter, after: $0, limit: $1) }
  }
}

extension RequestFilter {
  /// The requests of as many pages as it takes to have `limit` of them, or all.
  package func whole(
    after: RequestID?, limit: Int, _ page: (RequestID?, Int) async throws -> ListedRequests
  ) async throws -> [RequestRecord] {
    var (records, position): ([RequestRecord], RequestID?) = ([], after)
    while true {
      let found = try await page(position, limit - records.count)
      records += found.records
      guard records.count < limit, let next = found.next else { return records }
      position = next
    }
  }
}
