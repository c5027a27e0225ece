import BatonModel
import BatonStore

extension PermittedAPI {
  /// A key may be that of any jobs, so only a caller without patterns may change its limit, or see the keys.
  func setLimit(_ key: LimitKey, _ setting: LimitSetting?) async throws -> LimitRecord {
    let object = "\(key.kind.rawValue) \(key.text) \(setting?.text ?? "default")"
    try await checkUnlimited("SetLimit", object)
    return try await changing("SetLimit", object) { try await api.setLimit(key, setting) }
  }

  func limits(beginningWith beginning: String, after: LimitKey?, limit: Int) async throws -> [LimitRecord] {
    guard caller.limits == nil else { return [] }
    return try await api.limits(beginningWith: beginning, after: after, limit: limit)
  }
}
