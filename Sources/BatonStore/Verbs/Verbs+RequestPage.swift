package import BatonModel

/// A page of a list of requests.
package struct ListedRequests: Hashable, Sendable {
  package var records: [RequestRecord]
  /// Where the next page begins: after this request, which need not exist. `nil` if no page follows. A page may have
  /// fewer requests than were asked for, also none, and yet be followed by others (`Verbs.listWindow`).
  package var next: RequestID?

  package init(records: [RequestRecord], next: RequestID? = nil) { (self.records, self.next) = (records, next) }

  /// One page of several lists of one order. A list that goes on was looked at up to its `next`, and what others have
  /// behind that place is left for the next page.
  package init(merging pages: [ListedRequests], of filter: RequestFilter, limit: Int) {
    let isNewestFirst = filter.isNewestFirst
    let nexts = pages.compactMap(\.next)
    let last = isNewestFirst ? nexts.max() : nexts.min()
    let found = Dictionary(pages.flatMap(\.records).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let known = found.values.filter { record in
      last.map { isNewestFirst ? record.id >= $0 : record.id <= $0 } ?? true
    }.sorted(by: filter.order.precedes)
    self.init(first: limit, of: known)
    if next == nil { next = last }
  }

  /// The first `limit` requests. The list goes on if there are more.
  package init(first limit: Int, of records: [RequestRecord]) {
    self.init(
      records: Array(records.prefix(limit)), next: limit > 0 && records.count > limit ? records[limit - 1].id : nil)
  }
}

extension ListedRequests {
  /// The part of a page, the newest first, that is not older than a time. The list ends with an older request.
  package func since(_ since: Timestamp?, in order: ListOrder) -> ListedRequests {
    guard let since else { return self }
    let recent = records.prefix { $0.time(in: order) ?? since >= since }
    return ListedRequests(records: Array(recent), next: recent.count < records.count ? nil : next)
  }
}

extension RequestRecord {
  /// The time by which a list of this order is sorted; `nil` if the request has none.
  package func time(in order: ListOrder) -> Timestamp? { order == .endedLast ? endedAt : submittedAt }
}

extension Verbs {
  /// How many requests a page of a list by kind or submitter looks at. No index knows kinds and submitters, because an
  /// index costs each submission time; and a page that looked at all requests would keep the store's readers busy.
  package static let listWindow = 50_000

  /// The requests that match `filter`, in its order. Cursors and payloads are left out; `request` returns them.
  /// - Parameters:
  ///   - after: the `next` of the page before. A list of ended requests ends if that request was removed meanwhile:
  ///     those that ended before it were removed too.
  ///   - window: how many requests are looked at if the list is narrowed by kind or submitter.
  package func page(
    of filter: RequestFilter, after: RequestID?, limit: Int, window: Int = listWindow
  ) throws -> ListedRequests {
    let limit = min(limit, Int(Int32.max))
    if let flow = filter.flow { return try page(of: filter, in: flow, after: after, limit: limit) }
    guard filter.isNarrowed else {
      return ListedRequests(first: limit, of: try listed(filter, after: after, limit: limit + 1))
    }
    guard let position = try position(after, in: filter.order) else { return ListedRequests(records: []) }
    var names = try names(of: filter)
    // The requests of few identifiers are found by an index, and all of them are looked at, unless they are too many.
    if names.kind == .few {
      let most = min(window, Int(Int32.max))
      let count = try prepare(.countOfNames).first(names.lower, names.upper, most + 1) { $0.int(0) } ?? 0
      if count > most { names.kind = .many }
    }
    let bound = names.kind == .few ? nil : try bound(after: position, window, filter.order)
    let found = try narrowed(filter, names, after: position, until: bound, limit: limit + 1)
    var page = ListedRequests(first: limit, of: found)
    if page.next == nil, let bound { page.next = try next(behind: bound, filter.order) }
    return page
  }

  /// The requests that match a filter, however many have to be looked at for that.
  package func requests(_ filter: RequestFilter, after: RequestID?, limit: Int) throws -> [RequestRecord] {
    try page(of: filter, after: after, limit: limit, window: .max).records
  }

  /// The last place that a page looks at; `nil` if there are no more requests than that.
  private func bound(after position: ListPosition, _ window: Int, _ order: ListOrder) throws -> ListPosition? {
    switch order {
    case .submittedFirst: return ListPosition(id: min(position.id, .max - Int64(window)) + Int64(window))
    case .submittedLast:
      let newest = try prepare(.newestRequest).first { $0.optionalInt64(0) } ?? nil
      return newest.map { ListPosition(id: max(0, max(0, min(position.id, $0 + 1)) - 1 - Int64(window))) }
    case .endedLast:
      return try prepare(.endedBehind).first(position.end, position.id, window - 1) { row in
        ListPosition(id: row.int64(0), end: row.int64(1))
      }
    }
  }

  /// Where the page after the bound begins; `nil` if there is nothing behind it.
  private func next(behind bound: ListPosition, _ order: ListOrder) throws -> RequestID? {
    switch order {
    case .submittedFirst:
      return try prepare(.requestAbove).first(bound.id) { $0.optionalInt64(0) }.flatMap { $0 }.map { RequestID($0 - 1) }
    case .submittedLast:
      return try prepare(.requestBelow).first(bound.id) { $0.optionalInt64(0) }.flatMap { $0 }.map { RequestID($0 + 1) }
    case .endedLast: return RequestID(bound.id)
    }
  }

  private func narrowed(
    _ filter: RequestFilter, _ names: NameRange, after position: ListPosition, until bound: ListPosition?, limit: Int
  ) throws -> [RequestRecord] {
    let prepared = try prepare(Query.narrowed(names.kind, filter.order))
    let states = filter.states.isEmpty ? nil : filter.states.reduce(0) { $0 | 1 << $1.code }
    let last = bound ?? ListPosition(id: filter.order == .submittedFirst ? .max : 0, end: .min)
    return try prepared.all(
      position.id, limit, names.lower, names.upper, states, filter.host?.rawValue, Int64?.none, Int64?.none,
      position.end, filter.submitter, filter.kind?.rawValue, last.id, last.end, row: Self.record
    ).compactMap { try complete($0) }
  }
}

extension ListSource {
  /// The requests before the bound `?12` and `?13` of a page of a list that is narrowed.
  fileprivate func beforeBound(_ order: ListOrder) -> String {
    switch order {
    case .submittedFirst: "r.id <= ?12"
    case .submittedLast: "r.id > ?12"
    case .endedLast: "\(end) >= ?13 AND (\(end) > ?13 OR r.id >= ?12)"
    }
  }
}

extension Query {
  static let countOfNames = Query(
    """
    SELECT count(*) FROM (
      SELECT 1 FROM request WHERE identifier IN (SELECT id FROM identifier WHERE name >= ? AND name <= ?) LIMIT ?
    ) AS found
    """)

  static func narrowed(_ names: NameRange.Kind, _ order: ListOrder) -> Query {
    narrowedLists[order.rawValue * NameRange.Kind.allCases.count + names.rawValue]
  }

  /// Lists by kind and submitter: one query for each combination of an order and a range.
  static let narrowedLists: [Query] = ListOrder.allCases.flatMap { order in
    NameRange.Kind.allCases.map { names in
      let source: ListSource = names == .few ? .names : order == .endedLast ? .ended : .every
      let condition = { (kind: String) in
        """
        AND \(source.beforeBound(order)) AND (?10 IS NULL OR r.principal = ?10)
          AND (?11 IS NULL OR r.definition IN (SELECT id FROM definition WHERE \(kind) = ?11))
          AND coalesce(?10, ?11) IS NOT NULL AND coalesce(?12, ?13) IS NOT NULL
        """
      }
      return Query(
        listText(names, source.page(order), condition("json_extract(content, '$.kind')")),
        elsewhere: listText(names, source.plannedPage(order), condition("content::json ->> 'kind'")))
    }
  }

  static let newestRequest = Query("SELECT max(id) FROM request")
  static let requestBelow = Query("SELECT max(id) FROM request WHERE id <= ?")
  static let requestAbove = Query("SELECT min(id) FROM request WHERE id > ?")
  /// The request that ended so many places (`?3`) after the one at a position.
  static let endedBehind = Query(
    """
    SELECT r.id, \(endedSteady("r")) FROM request r
    WHERE r.ended_at IS NOT NULL AND \(endedSteady("r")) <= ?1 AND (\(endedSteady("r")) < ?1 OR r.id < ?2)
    ORDER BY \(endedSteady("r")) DESC, r.id DESC LIMIT 1 OFFSET ?3
    """)
}
