/// The name of a receiver of notifications. `receivers` in coordinator.yaml says what is behind it; a definition knows
/// the name alone, so it reaches no other address.
package struct ReceiverName: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
  package let rawValue: String

  /// The longest name, in bytes.
  package static let maximumBytes = 63
  /// What a name is, in words for people.
  package static let rule = HostName.rule

  /// The result is `nil` if the text is no name.
  package init?(_ text: String) {
    guard HostName(text).isWellFormed else { return nil }
    rawValue = text
  }

  /// A name that was checked before.
  package init(trusted text: String) { rawValue = text }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let name = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "the name of a receiver is \(Self.rule)")
    }
    self = name
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }

  package var description: String { rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Who is told of what: `notify` of a definition, and `notify` in coordinator.yaml, which holds for all definitions in
/// addition. `nil` tells nothing.
package struct NotifyRule: Hashable, Sendable, Codable {
  package var success: [ReceiverName]?
  /// Also of a request that was quarantined.
  package var failure: [ReceiverName]?
  package var quarantine: [ReceiverName]?
  package var skippedBatch: [ReceiverName]?
  package var missed: [ReceiverName]?
  package var hostLost: [ReceiverName]?
  package var waits: Patience?

  /// Who is told of a request that has not started in time.
  package struct Patience: Hashable, Sendable, Codable {
    /// How long after the time at which it could have begun.
    package var after: Duration
    package var to: [ReceiverName]

    package init(after: Duration, to receivers: [ReceiverName]) { (self.after, to) = (after, receivers) }
  }

  package init() {}

  /// How long a definition may let its requests wait before it tells.
  package static let patience = Duration.seconds(1)...Duration.seconds(365 * 86_400)
  /// How many receivers each list may have.
  package static let receivers = 1...16

  /// The lists with their keys, in the order in which they are written.
  package var lists: [(key: String, receivers: [ReceiverName])] {
    NotificationKind.keys.compactMap { kind in
      let list = kind == .waits ? waits?.to : self[kind]
      return list.map { (kind == .waits ? "waits.to" : kind.rawValue, $0) }
    }
  }

  package var isEmpty: Bool { lists.isEmpty }

  /// All receivers that the rule names.
  package var names: Set<ReceiverName> { Set(lists.flatMap(\.receivers)) }

  /// The list of one key; `nil` for what has none, and for `waits`.
  package subscript(kind: NotificationKind) -> [ReceiverName]? {
    get {
      switch kind {
      case .success: success
      case .failure: failure
      case .quarantine: quarantine
      case .skippedBatch: skippedBatch
      case .missed: missed
      case .hostLost: hostLost
      case .waits, .test: nil
      }
    }
    set {
      switch kind {
      case .success: success = newValue
      case .failure: failure = newValue
      case .quarantine: quarantine = newValue
      case .skippedBatch: skippedBatch = newValue
      case .missed: missed = newValue
      case .hostLost: hostLost = newValue
      case .waits, .test: break
      }
    }
  }

  /// Throws the first rule that a list breaks, with the key below `notify`.
  package func validate() throws(DefinitionProblem) {
    for (key, list) in lists {
      let field = "notify.\(key)"
      guard Self.receivers.contains(list.count) else {
        throw DefinitionProblem(field, "must have 1 to \(Self.receivers.upperBound) receivers, not \(list.count)")
      }
      guard Set(list).count == list.count else { throw DefinitionProblem(field, "names a receiver twice") }
      guard list.allSatisfy({ ReceiverName($0.rawValue) != nil }) else {
        throw DefinitionProblem(field, "has a name that is not \(ReceiverName.rule)")
      }
    }
    if let waits, !Self.patience.contains(waits.after) {
      throw DefinitionProblem(
        "notify.waits.after",
        "must be from \(Self.patience.lowerBound.inWords) to \(Self.patience.upperBound.inWords)")
    }
  }
}

/// The receivers who are told of something: those of the definition, and those of the fleet.
package struct Listeners: Sendable {
  package var definition: NotifyRule?
  package var fleet: NotifyRule

  package init(_ definition: NotifyRule?, _ fleet: NotifyRule) { (self.definition, self.fleet) = (definition, fleet) }

  /// Each receiver once, in the order of the names. A quarantined request has failed, so who is told of failures is
  /// told too.
  /// - Parameter endsRequest: false for the quarantine of a shard, which does not end its request.
  package func receivers(of kind: NotificationKind, endsRequest: Bool = true) -> [ReceiverName] {
    if definition == nil, fleet.isEmpty { return [] }
    if kind == .waits { return patience?.to.sorted() ?? [] }
    let kinds: [NotificationKind] = kind == .quarantine && endsRequest ? [.quarantine, .failure] : [kind]
    // A lost host is told of once, and not for each of its launches.
    let rules = kind == .hostLost ? [definition] : [definition, fleet]
    let named = rules.flatMap { rule in kinds.flatMap { rule?[$0] ?? [] } }
    return Set(named).sorted()
  }

  /// Who is told of requests that wait: the definition's own rule takes the place of the fleet's.
  package var patience: NotifyRule.Patience? { definition?.waits ?? fleet.waits }
}
