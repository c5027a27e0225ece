import BatonModel

/// The limits by key: `concurrency` and `rate`.
extension DefinitionDecoder {
  mutating func readKeys(_ fields: Fields, into definition: inout Definition) {
    definition.concurrency = concurrency(fields["concurrency"], of: definition.pattern)
    definition.rate = rate(fields["rate"], of: definition.pattern)
  }

  private mutating func concurrency(_ field: Field?, of pattern: IdentifierPattern) -> ConcurrencyLimit? {
    let example = "{key: api/example, limit: 2}"
    guard let field, let fields = mapping(field, .concurrency, example: example) else { return nil }
    demand(["key", "limit"], of: fields, field, example)
    let key = key(fields["key"], of: pattern)
    let limit = integer(fields["limit"], in: ConcurrencyLimit.limits)
    guard let key, let limit else { return nil }
    return ConcurrencyLimit(key: key, limit: limit)
  }

  private mutating func rate(_ field: Field?, of pattern: IdentifierPattern) -> RateLimitByKey? {
    let example = "{key: api/example, limit: 100, per: 1m}"
    guard let field, let fields = mapping(field, .rate, example: example) else { return nil }
    demand(["key", "limit", "per"], of: fields, field, example)
    let key = key(fields["key"], of: pattern)
    let limit = integer(fields["limit"], in: StartRate.limits)
    let per = duration(fields["per"], in: StartRate.times)
    let burst = integer(fields["burst"], in: StartRate.limits)
    guard let key, let limit, let per, fields["burst"] == nil || burst != nil else { return nil }
    let rule = StartRate(limit: limit, per: per, burst: burst ?? StartRate.usualBurst)
    if let burst = fields["burst"], rule.problem != nil {
      return refused(burst, "a whole number from 1 to 'rate.limit', which is \(limit)")
    }
    return RateLimitByKey(key: key, rule: rule)
  }

  private mutating func demand(_ keys: [String], of fields: Fields, _ field: Field, _ example: String) {
    let name = fields.level.rawValue
    for key in keys where fields[key] == nil {
      report.error("key '\(name).\(key)' is missing; write \(name): \(example)", at: field.keyPosition)
    }
  }

  private mutating func key(_ field: Field?, of pattern: IdentifierPattern) -> KeyTemplate? {
    guard let field, let text = text(field) else { return nil }
    let key = KeyTemplate(text)
    guard let problem = key.problem(isWildcard: pattern.isWildcard) else { return key }
    report.error("\(field.label) \(problem)", at: field.value.position)
    return nil
  }
}
