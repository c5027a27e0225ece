import BatonModel
import BatonStore

extension StoreConformance {
  /// Lists by kind and submitter, of which each page looks at few requests.
  static let narrowing: [Case] = [
    Case("a list by kind and submitter has each match once, however few requests a page looks at") { s in
      let all = try await s.mixed()
      for window in [3, 1000] {
        for isNewestFirst in [false, true] {
          for (filter, matches) in try filters(isNewestFirst) {
            let wanted = (isNewestFirst ? all.reversed() : all).filter(matches).map(\.id)
            for limit in [2, 100] {
              let found = try await s.pages(filter, window, limit: limit).flatMap(\.records).map(\.id)
              try expect(found, wanted, "\(filter), looking at \(window), at most \(limit)")
            }
          }
        }
      }
    },
    Case("a page of a list by submitter looks at no more requests than it may") { s in
      let all = try await s.mixed()
      for isNewestFirst in [false, true] {
        let filter = RequestFilter(submitter: "chloe", isNewestFirst: isNewestFirst)
        let pages = try await s.pages(filter, 4, limit: 10)
        try expect(pages.flatMap(\.records).count, 0, "what chloe has submitted")
        try expect(pages.count, all.count / 4, "pages that look at 4 of \(all.count) each")
        try expect(try await s.pages(filter, 1000, limit: 10).count, 1, "pages that look at everything")
      }
    },
    Case("a list by kind of ended requests begins with the one that ended last") { s in
      let all = try await s.mixed()
      var ended: [RequestRecord] = []
      for record in all where record.id.rawValue % 5 < 3 {
        s.advance(.seconds(1))
        _ = try await s.store.cancel(.request(record.id), by: "ada", at: s.now)
        ended.insert(record, at: 0)
      }
      let filter = RequestFilter(
        states: Set(RequestState.allCases.filter(\.isEnded)), kind: .continued, isNewestFirst: true)
      let wanted = ended.filter { $0.kind == .continued }.map(\.id)
      try expect(wanted.count > 3, "several have ended")
      for window in [1, 3, 1000] {
        for limit in [1, 100] {
          let found = try await s.pages(filter, window, limit: limit).flatMap(\.records).map(\.id)
          try expect(found, wanted, "looking at \(window), at most \(limit)")
        }
      }
    },
    Case("a list by submitter goes on after every number, also after numbers that no request has") { s in
      let all = try await s.mixed()
      for isNewestFirst in [false, true] {
        let filter = RequestFilter(submitter: "ana", isNewestFirst: isNewestFirst)
        for number in [Int64.min, -1, 0, 1, 1000, .max] {
          let pages = try await s.pages(filter, 1000, limit: 100, after: RequestID(number))
          let wanted = all.filter { record in
            record.principal == "ana" && (isNewestFirst ? record.id.rawValue < number : record.id.rawValue > number)
          }
          try expect(pages.flatMap(\.records).map(\.id).sorted(), wanted.map(\.id), "after \(number)")
        }
      }
    },
    Case("a list by submitter passes over what was deleted") { s in
      let all = try await s.mixed()
      // The requests in the middle end and are deleted. Pages that look at few requests do not stop there.
      for record in all[8..<32] {
        _ = try await s.store.cancel(.request(record.id), by: "ada", at: s.now)
      }
      s.advance(.seconds(86_400))
      _ = try await s.store.prune(PruneSelection(), isRehearsal: false, at: s.now)
      let left = Set((try await s.store.requests(RequestFilter(), after: nil, limit: 100)).map(\.id))
      try expect(left.count, 16, "how many are left")
      for isNewestFirst in [false, true] {
        let filter = RequestFilter(submitter: "ana", isNewestFirst: isNewestFirst)
        let wanted = (isNewestFirst ? all.reversed() : all).filter { $0.principal == "ana" && left.contains($0.id) }
        let pages = try await s.pages(filter, 4, limit: 10)
        try expect(pages.flatMap(\.records).map(\.id), wanted.map(\.id), "what ana has submitted")
        try expect(pages.count <= 5, "the gap costs one page at most: \(pages.count)")
      }
    },
  ]

  /// Filters, and which requests of `mixed` match them.
  private static func filters(
    _ isNewestFirst: Bool
  ) throws -> [(RequestFilter, (RequestRecord) -> Bool)] {
    let states: Set<RequestState> = [.ready, .scheduled]
    return [
      (RequestFilter(kind: .continued, isNewestFirst: isNewestFirst), { $0.kind == .continued }),
      (RequestFilter(submitter: "ana", isNewestFirst: isNewestFirst), { $0.principal == "ana" }),
      (
        RequestFilter(states: states, kind: .processing, submitter: "bob", isNewestFirst: isNewestFirst),
        { $0.kind == .processing && $0.principal == "bob" }
      ),
      (
        RequestFilter(
          pattern: try StoreScenario.pattern("com.c.*"), submitter: "bob", isNewestFirst: isNewestFirst),
        { $0.kind == .continued && $0.principal == "bob" }
      ),
      (RequestFilter(states: [.running], submitter: "bob", isNewestFirst: isNewestFirst), { _ in false }),
      (RequestFilter(kind: .refresh, isNewestFirst: isNewestFirst), { _ in false }),
    ]
  }
}

extension StoreScenario {
  /// Submits 40 requests of two kinds and two submitters.
  /// - Returns: the requests, in the order of their submissions.
  fileprivate mutating func mixed() async throws -> [RequestRecord] {
    let processing = try await define("com.p.*").id
    let continued = try await define("com.c.*", .continued).id
    for index in 0..<40 {
      let isContinued = index % 4 == 0
      try await submit("com.\(isContinued ? "c" : "p").\(index)", to: isContinued ? continued : processing) {
        $0.principal = index % 3 == 0 ? "ana" : "bob"
      }
    }
    return try await store.requests(RequestFilter(), after: nil, limit: 100)
  }

  /// All pages of a list after a position.
  fileprivate func pages(
    _ filter: RequestFilter, _ window: Int, limit: Int, after: RequestID? = nil
  ) async throws -> [ListedRequests] {
    var pages: [ListedRequests] = []
    var position = after
    repeat {
      let page = try await store.page(of: filter, after: position, limit: limit, window: window)
      try expect(page.records.count <= limit, "a page has no more than \(limit)")
      pages.append(page)
      position = page.next
    } while position != nil && pages.count < 1000
    try expect(position == nil, "the list ends")
    return pages
  }
}
