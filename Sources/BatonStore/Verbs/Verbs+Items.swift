package import BatonModel

/// The answer to a page of items.
package enum ItemsAnswer: Hashable, Sendable {
  /// The page is stored. `count` is the number of items so far; after `isFrozen` no more items are taken.
  /// After the last page, `end` is the end of the launch's shard, and `madeShards` says whether others are ready now.
  case committed(count: Int, isFrozen: Bool, end: Int64? = nil, madeShards: Bool = false)
  /// The launch is not the live launch of its request.
  case superseded
  /// The page is out of order or breaks a limit. The message says which.
  case refused(String)
}

extension Verbs {
  package func appendItems(_ page: ItemPage, from process: WorkerProcess, at now: Moment) throws -> ItemsAnswer {
    guard try isRunning(page.launch, on: process) else { return .superseded }
    let request = page.launch.request.rawValue
    let standing = try prepare(.itemStanding).first(request) { row in
      (
        isRunning: row.int(0) == RequestState.running.code, launch: row.int(1), frozen: row.optionalInt64(2),
        end: row.optionalInt64(3)
      )
    }
    guard let standing, standing.isRunning, standing.launch == page.launch.number else { return .superseded }
    if let frozen = standing.frozen { return .committed(count: Int(frozen), isFrozen: true, end: standing.end) }
    guard page.items.count <= ItemPage.maximumItems else {
      return .refused("a page has at most \(ItemPage.maximumItems) items, this one has \(page.items.count)")
    }
    return try append(page, to: try collected(request, by: page), at: now)
  }

  /// The items that a launch has sent so far.
  private struct Collected {
    var count = 0
    var bytes = 0
  }

  /// How many items this launch has sent so far. When a new launch sends its first page, the unfinished pages of an
  /// earlier launch are deleted.
  private func collected(_ request: Int64, by page: ItemPage) throws -> Collected {
    try need(.lastItems(page.launch.request))
    let last = try prepare(.lastPage).first(request) { row in
      (Collected(count: row.int(0) + row.int(1), bytes: row.int(3)), launch: row.int(2))
    }
    guard let last else { return Collected() }
    if last.launch == page.launch.number { return last.0 }
    if page.start == 0 {
      try need(.items(page.launch.request))
      try prepare(.deletePages).run(request)
    }
    return Collected()
  }

  private func append(_ page: ItemPage, to collected: Collected, at now: Moment) throws -> ItemsAnswer {
    let count = collected.count
    if page.start < count { return .committed(count: count, isFrozen: false) }
    guard page.start == count else {
      return .refused("a page starts at item \(page.start), but the next item is \(count)")
    }
    let request = page.launch.request.rawValue
    if !page.items.isEmpty {
      let blob = ItemBlob.encode(page.items)
      let bytes = collected.bytes + blob.count
      if let message = objection(toItems: count + page.items.count, bytes: bytes) { return .refused(message) }
      try prepare(.insertPage).run(
        draw(.itemPage), request, page.start, page.items.count, page.launch.number, blob, bytes)
    }
    let total = count + page.items.count
    guard page.isLast else { return .committed(count: total, isFrozen: false) }
    // Before anything is written: the group may have to begin again with more rows.
    let cut = try cutFrozenItems(of: page.launch.request, total: total, at: now)
    try prepare(.freezeItems).run(total, request)
    return .committed(count: total, isFrozen: true, end: cut?.end, madeShards: cut?.madeShards ?? false)
  }

  /// Why more items are refused; `nil` if they are within the limits.
  private func objection(toItems count: Int, bytes: Int) -> String? {
    if count > limits.items {
      return "the request has more than \(limits.items) items: split the work into several requests"
    }
    guard bytes > limits.itemBytes else { return nil }
    return "the items of the request take more than \(limits.itemBytes) bytes: use shorter items, or several requests"
  }

  package func items(
    of launch: LaunchKey, for process: WorkerProcess, start: Int, count: Int
  ) throws -> [String]? {
    guard try isRunning(launch, on: process) else { return nil }
    return try items(of: launch.request, start: start, count: count)
  }

  /// Only items that a launch has sent are stored. Items that are computed, such as a range, come from the definition
  /// and are not returned here.
  package func items(of request: RequestID, start: Int, count: Int) throws -> [String] {
    guard start >= 0, count > 0 else { return [] }
    let end = start + min(count, Int.max - start)
    // The items of a request belong to all of its shards.
    let request = try prepare(.headOf).first(request.rawValue) { $0.int64(0) } ?? request.rawValue
    return try prepare(.pages).all(request, end, request, start) { row in
      let (first, size) = (row.int(0), row.int(1))
      let (lower, upper) = (max(start - first, 0), min(end - first, size))
      return lower < upper ? try ItemBlob.decode(row.blob(2), lower..<upper) : []
    }.flatMap { $0 }
  }
}

extension Query {
  static let itemStanding = Query("SELECT state, launches, frozen_items, end_unit FROM request WHERE id = ?")
  static let headOf = Query("SELECT coalesce(head, id) FROM request WHERE id = ?")
  static let lastPage = Query(
    "SELECT start, count, launch, bytes_so_far FROM item_page WHERE request = ? ORDER BY start DESC LIMIT 1")
  static let deletePages = Query("DELETE FROM item_page WHERE request = ?")
  static let insertPage = Query(
    "INSERT INTO item_page (id, request, start, count, launch, bytes, bytes_so_far) VALUES (?, ?, ?, ?, ?, ?, ?)")
  static let freezeItems = Query("UPDATE request SET frozen_items = ? WHERE id = ?")
  static let pages = Query(
    """
    SELECT start, count, bytes FROM item_page
    WHERE request = ? AND start < ?
      AND start >= (SELECT max(start) FROM item_page WHERE request = ? AND start <= ?)
    ORDER BY start
    """)
}
