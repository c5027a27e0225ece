/// What a limit by key is about: how many launches run at once, or how many start in a time.
package enum LimitKind: String, Hashable, Sendable, Codable, CaseIterable, Comparable {
  case concurrency, rate

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The key of a limit, as it is for one request: `${wildcard}` has been replaced. Requests of any definitions with the
/// same key share one limit. A concurrency and a rate with the same text are two limits.
package struct LimitKey: Hashable, Sendable, Comparable, Codable {
  package var kind: LimitKind
  package var text: String

  package init(_ kind: LimitKind, _ text: String) { (self.kind, self.text) = (kind, text) }

  /// The longest key in bytes: the longest template, and the longest part of an identifier in its place.
  package static let maximumBytes = KeyTemplate.maximumBytes + JobIdentifier.maximumBytes

  /// What is wrong with the text; `nil` if it can be the key of a request.
  package var problem: String? {
    guard (1...Self.maximumBytes).contains(text.utf8.count) else {
      return "must have 1 to \(Self.maximumBytes) bytes, not \(text.utf8.count)"
    }
    return KeyTemplate.isPlain(text) ? nil : "must be one line of printable characters, without spaces at its ends"
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.kind == right.kind && left.text.hasBytes(of: right.text)
  }

  package static func < (left: Self, right: Self) -> Bool {
    (left.text, left.kind.rawValue) < (right.text, right.kind.rawValue)
  }
}

/// The key of a limit in a definition: plain text in which `${wildcard}` stands for the part of a request's identifier
/// that the `*` matches, as in the arguments of a command.
package struct KeyTemplate: Hashable, Sendable, Codable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) { self.text = text }

  package init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  package var description: String { text }

  /// The longest template in bytes.
  package static let maximumBytes = 200

  /// What is wrong with the text; `nil` if it is a key.
  /// - Parameter isWildcard: whether the definition's identifier ends with `*`.
  package func problem(isWildcard: Bool) -> String? {
    guard (1...Self.maximumBytes).contains(text.utf8.count) else {
      return "must have 1 to \(Self.maximumBytes) bytes, not \(text.utf8.count)"
    }
    guard Self.isPlain(text) else { return "must be one line of printable characters, without spaces at its ends" }
    do throws(CommandText.Mistake) {
      guard try !CommandText(text).usesWildcard || isWildcard else {
        return "may have ${wildcard} only below a wildcard such as com.example.export.*"
      }
      return nil
    } catch {
      switch error {
      case .nul: return "must be one line of printable characters, without spaces at its ends"
      case .unknownPlaceholder(let found): return "has \(found), and the only variable of a key is ${wildcard}"
      }
    }
  }

  /// Whether a person can read the text and write it again.
  package static func isPlain(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.isPrintable } && text.first != " " && text.last != " "
  }

  /// The text with `${wildcard}` replaced.
  /// - Parameter wildcard: what the `*` of the definition matches; empty for a definition without `*`.
  package func expanded(wildcard: String) -> String {
    (try? CommandText(text))?.expanded(wildcard: wildcard) ?? text
  }
}

/// At most so many launches with the key run at once over the whole fleet: `concurrency` of a definition.
package struct ConcurrencyLimit: Hashable, Sendable, Codable {
  package var key: KeyTemplate
  package var limit: Int

  package init(key: KeyTemplate, limit: Int) { (self.key, self.limit) = (key, limit) }

  package static let limits = 1...100_000
}

/// At most so many launches with the key start in a time, over the whole fleet: `rate` of a definition.
package struct RateLimitByKey: Hashable, Sendable, Codable {
  package var key: KeyTemplate
  package var rule: StartRate

  package init(key: KeyTemplate, rule: StartRate) { (self.key, self.rule) = (key, rule) }
}

/// How often something may start: a bucket that holds `burst` tokens and gets `limit` new ones in each `per`, evenly
/// spaced. Each start takes one. So in any time `t` at most `burst + t * limit / per` start.
///
/// The state of a bucket is one time on the steady clock, at which it will be full again (the theoretical arrival time
/// of the generic cell rate algorithm).
package struct StartRate: Hashable, Sendable, Codable {
  package var limit: Int
  package var per: Duration
  package var burst: Int

  package init(limit: Int, per: Duration, burst: Int = Self.usualBurst) {
    (self.limit, self.per, self.burst) = (limit, per, burst)
  }

  package static let limits = 1...1_000_000
  package static let times = Duration.seconds(1)...Duration.seconds(86_400)
  /// Without `burst` starts are spaced evenly, so that no time `per` has more than one above the limit.
  package static let usualBurst = 1

  /// The time in which the bucket gets one token, rounded up: rounding never permits more.
  package var interval: Duration {
    let (nanoseconds, limit) = (per.nanoseconds, Int64(max(1, limit)))
    return .nanoseconds(nanoseconds / limit + (nanoseconds % limit == 0 ? 0 : 1))
  }

  /// The earliest time of the next start.
  /// - Parameter fullAt: when the bucket is full again.
  package func earliest(fullAt: Timestamp) -> Timestamp {
    fullAt + (.zero - .nanoseconds(interval.nanoseconds * Int64(max(1, burst) - 1)))
  }

  /// How many may start now.
  package func tokens(fullAt: Timestamp, at now: Timestamp) -> Int {
    let spare = (now - earliest(fullAt: fullAt)).nanoseconds
    guard spare >= 0 else { return 0 }
    return min(max(1, burst), Int(min(spare / interval.nanoseconds, Int64(Int32.max))) + 1)
  }

  /// When the bucket is full again, after one more start.
  package func started(fullAt: Timestamp, at now: Timestamp) -> Timestamp { max(fullAt, now) + interval }
}

/// What a person has set for a key at run time. It holds for all definitions until it is taken back.
package enum LimitSetting: Hashable, Sendable {
  case concurrency(Int)
  case rate(StartRate)

  package var kind: LimitKind {
    switch self {
    case .concurrency: .concurrency
    case .rate: .rate
    }
  }

  /// The limit as `baton set` takes it: `2`, or `100/1m,burst=20`.
  package var text: String {
    switch self {
    case .concurrency(let limit): "\(limit)"
    case .rate(let rule):
      "\(rule.limit)/\(rule.per.asSetting)" + (rule.burst == StartRate.usualBurst ? "" : ",burst=\(rule.burst)")
    }
  }

  /// What is wrong with the numbers; `nil` if they may be set.
  package var problem: String? {
    switch self {
    case .concurrency(let limit):
      let bounds = ConcurrencyLimit.limits
      return bounds.contains(limit) ? nil : "the limit must be from \(bounds.lowerBound) to \(bounds.upperBound)"
    case .rate(let rule): return rule.problem?.text
    }
  }
}

extension StartRate {
  /// The first of the numbers that is out of its bounds, and how it must be.
  package var problem: (key: String, text: String)? {
    guard Self.limits.contains(limit) else {
      return ("limit", "limit must be from \(Self.limits.lowerBound) to \(Self.limits.upperBound), not \(limit)")
    }
    guard Self.times.contains(per) else { return ("per", "per must be from 1 s to 1 day") }
    guard (1...limit).contains(burst) else {
      return ("burst", "burst must be from 1 to limit, which is \(limit), not \(burst)")
    }
    return nil
  }
}

extension Definition {
  /// Whether limits by key concern requests of this definition.
  package var hasKeys: Bool { concurrency != nil || rate != nil }

  /// The keys of a request of this definition, of which at most one is of each kind.
  package func limitKeys(of identifier: JobIdentifier) -> [LimitKey] {
    guard hasKeys else { return [] }
    let wildcard = pattern.wildcardValue(in: identifier) ?? ""
    var keys: [LimitKey] = []
    if let concurrency { keys.append(LimitKey(.concurrency, concurrency.key.expanded(wildcard: wildcard))) }
    if let rate { keys.append(LimitKey(.rate, rate.key.expanded(wildcard: wildcard))) }
    return keys
  }

  func validateKeys() throws(DefinitionProblem) {
    for (field, key) in [("concurrency", concurrency?.key), ("rate", rate?.key)] {
      guard let problem = key?.problem(isWildcard: pattern.isWildcard) else { continue }
      throw DefinitionProblem("\(field).key", problem)
    }
    let bounds = ConcurrencyLimit.limits
    if let limit = concurrency?.limit, !bounds.contains(limit) {
      throw DefinitionProblem("concurrency.limit", "must be from 1 to \(bounds.upperBound), not \(limit)")
    }
    if let problem = rate?.rule.problem { throw DefinitionProblem("rate.\(problem.key)", problem.text) }
  }
}

extension Duration {
  /// The duration as a job file may have it, in the largest unit that it has a whole number of: `1m`, and not `60s`.
  package var asSetting: String {
    for (unit, length) in [("d", Int64(86_400)), ("h", 3_600), ("m", 60), ("s", 1)]
    where nanoseconds % (length * 1_000_000_000) == 0 {
      return "\(nanoseconds / 1_000_000_000 / length)\(unit)"
    }
    return "\(nanoseconds / 1_000_000)ms"
  }
}
