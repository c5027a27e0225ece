import BatonHandler
import BatonModel

extension CommandLaunch {
  /// Runs the remaining batches one after another. Each batch is committed before the next one begins. The answer to a
  /// commit says where the launch's shard ends now, so the launch never runs a batch that a split has given away.
  func runBatches(of items: Items) async throws {
    let source = try await ItemSource(items, launch: self)
    if source.count == 0 { return try await commit(0, of: 0) }
    // The number comes from the store. Even a wrong number must not become a negative index.
    var offset = max(0, Int(runtime.progress.completedUnits))
    var ahead: ArraySlice<String> = []
    while offset < source.count {
      ahead += try await source.items(after: offset + ahead.count, having: ahead.count, least: work.batchSize)
      let batch = Array(ahead.prefix(min(work.batchSize, source.count - offset)))
      ahead = ahead.dropFirst(batch.count)
      let (end, held) = (offset + batch.count, ahead.count)
      // The items of the next batches are fetched while this batch runs.
      async let more = source.items(after: end + held, having: held, least: 2 * work.batchSize)
      // A batch must not be announced if it will not run.
      if stop.isStopped { throw CommandExpired(isGraceful: true) }
      runtime.batchBegins()
      let said = try await ResultPipe(of: self).execute(ItemPassage(batch, launch: self).invocation())
      if end == source.count {
        _ = try await more
        return try await commit(end, of: end, said)
      }
      try await commit(end, of: source.count, said)
      offset = end
      ahead += try await more
    }
  }

  private func commit(_ completed: Int, of total: Int, _ said: ResultPipe.Said = ResultPipe.Said()) async throws {
    var commit = Commit(
      cursor: nil, completedUnits: Int64(completed), totalUnits: Int64(total), subtitle: said.subtitle,
      reachesEnd: completed == total)
    commit.result = said.result
    if let found = said.found { runtime.conclude(found) }
    if commit.reachesEnd { try await runtime.commitLast(commit) } else { try await runtime.commit(commit) }
  }
}

/// The items of a launch's shard, or of the whole request: computed from the definition, or read from the store.
struct ItemSource: Sendable {
  let batchSize: Int
  private let runtime: any CommandRuntime
  /// How many items the request has.
  private let total: Int
  private let fetch: @Sendable (Range<Int>) async throws -> [String]

  /// Lists the items and freezes them in the store first, if no earlier launch has done so.
  init(_ items: Items, launch: CommandLaunch) async throws {
    batchSize = launch.work.batchSize
    let runtime = launch.runtime
    self.runtime = runtime
    if let computed = items.computedCount {
      total = computed
      fetch = { items.computed($0) }
      return
    }
    if let frozen = runtime.frozenItems {
      total = frozen
    } else if let end = runtime.shard?.end {
      // Another launch has frozen the items and they were cut into shards.
      total = Int(end)
    } else {
      total = try await ItemExpansion.open(items, launch: launch).freeze(runtime)
    }
    fetch = { try await Self.pages($0, of: runtime) }
  }

  /// How many items are to be done, counted from the first one of the shard. A split makes the number smaller while the
  /// launch runs.
  var count: Int { runtime.shard?.length.map { Int($0) } ?? total }

  private var first: Int { runtime.shard.map { Int($0.first) } ?? 0 }

  /// The store returns at most one page for each question.
  private static func pages(_ range: Range<Int>, of runtime: any CommandRuntime) async throws -> [String] {
    var items: [String] = []
    for start in stride(from: range.lowerBound, to: range.upperBound, by: ItemPage.maximumItems) {
      items += try await runtime.items(start: start, count: min(ItemPage.maximumItems, range.upperBound - start))
    }
    return items
  }

  /// Returns more items from `start` on, counted from the first one of the shard, if fewer than `least` are in memory
  /// and there are more. The number is enough for four batches, but not more than 10,000 unless a single batch is
  /// larger, and at least a page.
  func items(after start: Int, having: Int, least: Int) async throws -> [String] {
    let wanted = min(count - start, max(min(4 * batchSize, 10_000), batchSize, ItemPage.maximumItems))
    if having >= least || wanted <= 0 { return [] }
    let items = try await fetch((first + start)..<(first + start + wanted))
    guard items.count == wanted else {
      throw CommandError(
        .badItems, "the store gave \(items.count) items from item \(start) on where \(wanted) were asked for")
    }
    return items
  }
}
