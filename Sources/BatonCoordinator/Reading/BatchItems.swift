package import BatonModel
import BatonStore

/// The items of one batch of a request, as its command gets them.
package struct BatchItems: Hashable, Sendable {
  /// The shard of a divided request, within which the batch is counted; nil if the request was not divided.
  package var shard: Int?
  /// The index of the batch, from 0.
  package var batch: Int
  /// The indexes of its items among all items of the request.
  package var range: Range<Int>
  /// The number of items of the request.
  package var total: Int
  /// The first of its items, at most `mostNamed`, each cut to `longestName`.
  package var items: [String]
  /// The last of its items; nil if it is among `items`.
  package var last: String?

  package static let mostNamed = 10
  /// The most bytes of an item that are told: an answer fits in a message.
  package static let longestName = 1_024

  package init(
    shard: Int? = nil, batch: Int, range: Range<Int>, total: Int, items: [String], last: String? = nil
  ) {
    (self.shard, self.batch, self.range, self.total) = (shard, batch, range, total)
    (self.items, self.last) = (items, last)
  }
}

/// The batches that were asked for.
package struct BatchList: Hashable, Sendable {
  package var batches: [BatchItems]
  /// How many shards have failed beyond those of `batches`.
  package var leftOut: Int

  /// The most failed shards whose batches are told.
  package static let most = 5

  package init(_ batches: [BatchItems], leftOut: Int = 0) { (self.batches, self.leftOut) = (batches, leftOut) }
}

extension Coordinator {
  package func batches(_ identifier: JobIdentifier, number: Int?, shard: Int?, batch: Int?) async throws -> BatchList {
    let record = try await request(identifier, number: number)
    let plan = try await batchPlan(of: record)
    guard record.shards != nil else {
      guard shard == nil else {
        throw OperatorError.conflict("\(plan.name) was not divided, so it has no shards: leave the shard out")
      }
      let part = BatchPlan.Part(units: 0..<plan.total, next: record.progress.batches)
      return BatchList([try await items(of: record.id, plan, part, batch)])
    }
    let (shards, leftOut) = try await shards(of: record, shard, batch, plan.name)
    var found: [BatchItems] = []
    for one in shards {
      let end = Int(one.end ?? one.first)
      let part = BatchPlan.Part(shard: one.index, units: Int(one.first)..<max(Int(one.first), end), next: one.batches)
      found.append(try await items(of: record.id, plan, part, batch))
    }
    return BatchList(found, leftOut: leftOut)
  }

  private func batchPlan(of record: RequestRecord) async throws -> BatchPlan {
    let name = "request \(record.number) of '\(record.identifier)'"
    guard let work = try await translating({ try await self.store.definition(record.definition) })?.work,
      let items = work.items
    else {
      throw OperatorError.conflict("\(name) has no items: a batch is what it does between two checkpoints")
    }
    guard let total = items.computedCount ?? record.frozenItems else {
      throw OperatorError.conflict("the items of \(name) are not known yet: its first launch looks for them")
    }
    return BatchPlan(name: name, items: items, size: max(1, work.batchSize), total: total)
  }

  /// The shard that is named, or those that have failed.
  private func shards(
    of record: RequestRecord, _ index: Int?, _ batch: Int?, _ name: String
  ) async throws -> (shards: [ShardRecord], leftOut: Int) {
    if let index {
      let found = try await translating { try await self.store.shards(of: record.id, after: index - 1, limit: 1) }
      guard let shard = found.first, shard.index == index else {
        throw OperatorError.notFound("\(name) has no shard \(index)")
      }
      return ([shard], 0)
    }
    guard batch == nil else { throw OperatorError.conflict("\(name) is divided: say which shard's batch it is") }
    var (failed, after): ([ShardRecord], Int?) = ([], nil)
    repeat {
      let last = after
      let page = try await translating { try await self.store.shards(of: record.id, after: last, limit: 1_000) }
      failed += page.filter { $0.state == .failed }
      after = page.count == 1_000 ? page.last?.index : nil
    } while after != nil && failed.count < BatchList.most
    let named = Array(failed.prefix(BatchList.most))
    return (named, max(0, (record.shards?.failed ?? named.count) - named.count))
  }

  private func items(
    of request: RequestID, _ plan: BatchPlan, _ part: BatchPlan.Part, _ batch: Int?
  ) async throws -> BatchItems {
    let (number, range) = try plan.range(of: batch, in: part)
    let named = range.lowerBound..<min(range.upperBound, range.lowerBound + BatchItems.mostNamed)
    var items = try await items(of: request, plan, named)
    let last = named.upperBound < range.upperBound ? range.upperBound - 1 : nil
    if let last { items += try await self.items(of: request, plan, last..<last + 1) }
    items = items.map { $0.bounded(toBytes: BatchItems.longestName) }
    let lastItem = last != nil && items.count > named.count ? items.removeLast() : nil
    return BatchItems(
      shard: part.shard, batch: number, range: range, total: plan.total, items: items, last: lastItem)
  }

  private func items(of request: RequestID, _ plan: BatchPlan, _ range: Range<Int>) async throws -> [String] {
    if !plan.items.needsExpansion { return plan.items.computed(range) }
    return try await translating {
      try await self.store.items(of: request, start: range.lowerBound, count: range.count)
    }
  }
}

/// How the items of a request are divided into batches.
struct BatchPlan {
  var name: String
  var items: Items
  var size: Int
  var total: Int

  /// The request, or one of its shards.
  struct Part {
    var shard: Int?
    var units: Range<Int>
    /// The batch that comes next.
    var next: Int
  }

  /// The items of a batch.
  /// - Parameter batch: nil for the batch that comes next.
  /// - Throws: `.conflict` if there is no such batch.
  func range(of batch: Int?, in part: Part) throws(OperatorError) -> (batch: Int, items: Range<Int>) {
    let number = batch ?? part.next
    let whose = part.shard.map { "shard \($0) of \(name)" } ?? name
    let count = part.units.count / size + (part.units.count % size == 0 ? 0 : 1)
    guard number < count else {
      throw .conflict(
        batch == nil
          ? "\(whose) has no batch left" : "\(whose) has \(count) batch\(count == 1 ? "" : "es"), counted from 0")
    }
    let start = part.units.lowerBound + number * size
    return (number, start..<start + min(size, part.units.upperBound - start))
  }
}
