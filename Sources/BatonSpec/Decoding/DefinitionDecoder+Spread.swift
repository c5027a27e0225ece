import BatonModel

/// The keys of `work` that divide a request among several hosts or slots.
extension DefinitionDecoder {
  /// Reads `spread`, `shardSize`, `shards` and `onShardFailure` of the mapping `work`.
  mutating func spread(_ work: Field?, _ kind: JobKind?) -> Spread? {
    let lanes = part("spread", of: work)
    let (shardSize, shards) = (part("shardSize", of: work), part("shards", of: work))
    let onFailure = part("onShardFailure", of: work)
    guard let work, let first = [lanes, shards, shardSize, onFailure].compactMap(\.self).first else { return nil }
    if kind == .refresh {
      report.error(
        "\(first.label) does not belong to kind refresh, which is one short look; remove it", at: first.keyPosition)
    }
    if lanes == nil, shards == nil, let alone = shardSize ?? onFailure {
      report.error("\(alone.label) needs 'work.spread': without it nothing is divided", at: alone.keyPosition)
    }
    checkItems(lanes, shardSize, shards, of: work)
    var spread = Spread(lanes: integer(lanes, in: Definition.Limits.spread) ?? 1)
    spread.shardSize = integer(shardSize, in: Definition.Limits.shardSize)
    spread.shards = integer(shards, in: Definition.Limits.shards)
    spread.onShardFailure = onFailure.flatMap { choice($0, ShardFailure.self) }
    return spread
  }

  /// A list is cut into ranges, and work without items into a number of shards that the file says.
  private mutating func checkItems(_ lanes: Field?, _ shardSize: Field?, _ shards: Field?, of work: Field) {
    if entry("items", of: work) != nil {
      guard let shards else { return }
      report.error(
        "\(shards.label) belongs to work without items: with items, 'work.shardSize' says how they are cut",
        at: shards.keyPosition)
      return
    }
    if let shardSize {
      report.error(
        "\(shardSize.label) needs 'work.items': it says how many items a shard has", at: shardSize.keyPosition)
    }
    if let lanes, shards == nil {
      report.error("\(lanes.label) \(Spread.noCursor)", at: lanes.keyPosition)
    }
  }

  /// The field of one key of `work`.
  func part(_ key: String, of work: Field?) -> Field? {
    guard let work, let found = entry(key, of: work) else { return nil }
    return Field(label: "'\(Level.work.path(of: key))'", keyPosition: found.keyPosition, value: found.value)
  }
}
