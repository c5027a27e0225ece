extension Definition {
  /// Why a request that has committed batches under `old` cannot go on under this definition at its checkpoint: each
  /// difference in a few words; empty if it can. What a checkpoint means depends on the items and on how many of them
  /// make a batch; everything else (the command, its environment, conditions, limits) may change.
  package func differences(fromItemsOf old: Definition) -> [String] {
    switch (old.work, work) {
    case (nil, nil): []
    case (nil, _?): ["'work' was none (a Swift handler) and is a command"]
    case (_?, nil): ["'work' was a command and is none (a Swift handler)"]
    case (let before?, let after?): after.differences(fromItemsOf: before)
    }
  }
}

extension Work {
  fileprivate func differences(fromItemsOf old: Work) -> [String] {
    var found: [String] = []
    if items != old.items {
      found.append(
        "'items' were \(Items.words(old.items, beside: items)) and are \(Items.words(items, beside: old.items))")
    }
    // Without items there is no batch size to keep to: the command keeps its own cursor.
    if items != nil, old.items != nil, batchSize != old.batchSize {
      found.append("'batchSize' was \(old.batchSize) and is \(batchSize)")
    }
    return found
  }
}

extension Items {
  /// For a message that has `other` beside it.
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
