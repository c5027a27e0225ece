import BatonBase
package import BatonModel
package import BatonStore

extension JSONValue {
  /// The limit of a key, as programs see it.
  package init(_ record: LimitRecord) {
    self = [
      "key": JSONValue(record.key.text), "kind": JSONValue(record.key.kind.rawValue),
      "limit": JSONValue(record.limit), "isSet": .bool(record.setting != nil), "running": JSONValue(record.running),
      "waiting": JSONValue(record.waiting), "nextAt": JSONValue(record.nextAt),
    ]
  }

  private init(_ limit: LimitSetting?) {
    switch limit {
    case .concurrency(let limit): self = ["limit": JSONValue(limit), "per": .null, "burst": .null]
    case .rate(let rule):
      self = [
        "limit": JSONValue(rule.limit), "per": JSONValue(rule.per.asSetting), "burst": JSONValue(rule.burst),
      ]
    case nil: self = .null
    }
  }

  /// What a limit by key says of a request that waits for it.
  package init(_ limit: LimitObstacle) {
    self = [
      "key": JSONValue(limit.key.text), "kind": JSONValue(limit.key.kind.rawValue), "limit": JSONValue(limit.limit),
      "running": JSONValue(limit.running), "per": JSONValue(limit.per?.asSetting),
      "position": JSONValue(limit.position), "until": JSONValue(limit.until),
    ]
  }
}
