extension Definition {
  /// The reasons why a request that has committed batches under the definition `old` cannot go on at its checkpoint
  /// under this definition. Each reason is a short phrase for people; the array is empty if the request can go on.
  ///
  /// The meaning of a checkpoint depends on the items and on the batch size. Everything else (the command, its
  /// environment, the conditions, the limits) may change.
  package func differences(fromItemsOf old: Definition) -> [String] {
    let work: [String] =
      switch (old.work, work) {
      case (nil, nil): []
      case (nil, _?): ["'work' was none (a Swift handler) and is a command"]
      case (_?, nil): ["'work' was a command and is none (a Swift handler)"]
      case (let before?, let after?): after.differences(fromItemsOf: before)
      }
    return work + shardDifferences(from: old)
  }

  /// Each shard of work without items has a cursor of its own, so their number stays.
  private func shardDifferences(from old: Definition) -> [String] {
    guard spread?.shards != old.spread?.shards else { return [] }
    let (before, after) = (old.spread?.shards.map(String.init) ?? "none", spread?.shards.map(String.init) ?? "none")
    return ["'shards' were \(before) and are \(after)"]
  }
}

extension Work {
  fileprivate func differences(fromItemsOf old: Work) -> [String] {
    var found: [String] = []
    if items != old.items {
      found.append(
        "'items' were \(Items.words(old.items, beside: items)) and are \(Items.words(items, beside: old.items))")
    }
    // A command without items keeps its own cursor, so its batch size has no meaning.
    if items != nil, old.items != nil, batchSize != old.batchSize {
      found.append("'batchSize' was \(old.batchSize) and is \(batchSize)")
    }
    return found
  }
}

extension Items {
  /// The words for `items` in a message that names `other` too. Two lists of the same length are told apart by "with
  /// other items".
  fileprivate static func words(_ items: Items?, beside other: Items?) -> String {
    switch items {
    case nil: "none"
    case .list(let list):
      if case .list(let others)? = other, others.count == list.count {
        "a list of \(list.count) with other items"
      } else {
        "a list of \(list.count)"
      }
    case .range(let range): "the range \(range.lowerBound)...\(range.upperBound)"
    case .lines(let file): "the lines of '\(file)'"
    case .glob(let pattern): "the glob '\(pattern)'"
    }
  }
}
