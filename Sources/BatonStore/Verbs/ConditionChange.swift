package import BatonModel

/// One change of one condition of a host.
package struct ConditionChange: Hashable, Sendable {
  /// 1, 2 … in the order in which the store heard of the changes of this host.
  package var number: Int64
  package var at: Timestamp
  /// The name of the condition, as `baton hosts` has it; `lease` for the host's own coming and going.
  package var condition: String
  /// `nil` if the condition is unknown since then.
  package var value: String?
  package var source: String
  /// The raw reading, for people; at most 256 bytes.
  package var raw: String

  package init(
    number: Int64 = 0, at: Timestamp, condition: String, value: String?, source: String, raw: String = ""
  ) {
    (self.number, self.at, self.condition) = (number, at, condition)
    (self.value, self.source, self.raw) = (value, source, raw)
  }

  /// The longest value and the longest raw reading that are kept, in bytes.
  static let longestText = 256
  /// The most changes that are kept of a host.
  package static let most = 2_000
  /// The condition that tells whether a host holds a lease.
  static let lease = "lease"
}

extension Conditions {
  /// The conditions whose values or sources differ from those of an earlier report; all of them if there is none. The
  /// charge of a battery is a change at each tenth only, because it has another value every minute.
  func changes(since earlier: Conditions?, at date: Timestamp) -> [ConditionChange] {
    let before = Dictionary(
      (earlier?.told ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    return told.filter { before[$0.name]?.mark != $0.mark }.map { one in
      ConditionChange(
        at: date, condition: one.name, value: one.value?.cut, source: one.source.cut, raw: one.raw.cut)
    }
  }

  private struct Told {
    var name: String
    var value: String?
    var source: String
    var raw: String
    /// What is compared.
    var mark: [String?]

    init<Value>(_ name: String, _ reading: Reading<Value>, step: Int? = nil, _ text: (Value) -> String) {
      (self.name, source, raw) = (name, reading.source, reading.raw)
      value = reading.value.map(text)
      let compared = step.flatMap { step in (reading.value as? Int).map { "\($0 / step)" } } ?? value
      mark = [compared, source]
    }
  }

  private var told: [Told] {
    var owner = Reading("accepting", source: "owner")
    switch self.owner {
    case .accepting: break
    case .paused(let by, _): owner = Reading("paused", source: "owner", raw: "by \(by)")
    case .outsideHours: owner = Reading("outsideHours", source: "owner")
    }
    return [
      Told("power", power) { $0.rawValue }, Told("battery", battery, step: 10) { "\($0)" },
      Told("lowPowerMode", lowPowerMode) { "\($0)" }, Told("thermal", thermal) { $0.name },
      Told("network", network) { $0.rawValue }, Told("idle", isIdle) { "\($0)" },
      Told("gpus", gpus) { gpus in gpus.map { $0.isPresent ? $0.name : "\($0.name) (gone)" }.joined(separator: ", ") },
      Told("labels", labels) { labels in
        labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
      },
      Told("owner", owner) { $0 },
    ]
  }
}

extension String {
  /// At most `ConditionChange.longestText` bytes of the text.
  fileprivate var cut: String {
    guard utf8.count > ConditionChange.longestText else { return self }
    return String(decoding: utf8.prefix(ConditionChange.longestText - 3), as: UTF8.self).filter { $0 != "\u{FFFD}" }
      + "…"
  }
}
