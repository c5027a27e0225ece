import BatonBase
import BatonCoordinator
import BatonModel
import BatonStore

extension BatchItems {
  /// Which batch it is, and which items it has: `batch 12: items 121 to 130 of 247`. People count items from 1.
  var place: String {
    "batch \(batch)" + (shard.map { " of shard \($0)" } ?? "") + ": "
      + (range.count == 1
        ? "item \(range.upperBound) of \(total)" : "items \(range.lowerBound + 1) to \(range.upperBound) of \(total)")
  }

  /// One line for each item that is named.
  var lines: [String] {
    let hidden = range.count - items.count - 1
    let rest = last.map { (hidden > 0 ? ["  … \(hidden) more"] : []) + ["  \($0.onOneLine)"] } ?? []
    return items.map { "  \($0.onOneLine)" } + rest
  }

  /// The batch on one line: `batch 12: items 121 to 130 of 247, IMG_0121.jpg … IMG_0130.jpg`.
  fileprivate var brief: String {
    let ends = [items.first, range.count > 1 ? last ?? items.last : nil].compactMap { $0?.onOneLine.cut(to: 60) }
    return place + (ends.isEmpty ? "" : ", " + ends.joined(separator: " … "))
  }
}

extension BatchList {
  /// The lines of `baton show`.
  var facts: [(name: String, value: String)] {
    batches.enumerated().map { ($0.offset == 0 ? "Failed at" : " ", $0.element.brief) }
      + (leftOut > 0 ? [(" ", "and \(counted(leftOut, "more shard")); --shards lists them")] : [])
  }
}
