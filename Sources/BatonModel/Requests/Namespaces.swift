/// A part of the identifiers that belongs to one team: a prefix with an owner, a weight and quotas
/// (`namespaces` in `coordinator.yaml`).
package struct Namespace: Hashable, Sendable {
  /// The prefix, such as `com.example.team`. It stands for that identifier and for all identifiers below it. Empty for
  /// what belongs to no namespace.
  package var prefix: String
  /// Whom the namespace belongs to, as people are told; `nil` if the settings name no owner.
  package var owner: PrincipalPattern?
  /// How large the part of the fleet is that the namespace gets, beside the others, when all of them have work.
  package var weight: Int
  package var quotas: Quotas

  /// What a namespace may have at most; `nil` stands for no limit.
  package struct Quotas: Hashable, Sendable {
    /// Requests that are scheduled or ready.
    package var pending: Int?
    /// Launches that run at the same time. Each shard that runs is one.
    package var running: Int?
    /// The slots, and the GPUs, of the launches that run at the same time.
    package var slots: Int?
    package var gpus: Int?
    /// The launch time in one day of the steady clock.
    package var dailyAllowance: Duration?

    package init() {}

    /// Whether the number of launches that start is limited, so that the store counts before one starts.
    package var limitLaunches: Bool { running != nil || slots != nil || gpus != nil }
  }

  /// The weights that are accepted.
  package static let weights = 1...1_000

  package init(_ prefix: String, owner: PrincipalPattern? = nil, weight: Int = 1, quotas: Quotas = Quotas()) {
    (self.prefix, self.owner, self.weight, self.quotas) = (prefix, owner, weight, quotas)
  }

  /// The name in messages.
  package var name: String { prefix.isEmpty ? "(none)" : prefix }
}

/// The namespaces of a fleet, and how long their use is remembered.
///
/// A definition belongs to the namespace with the longest prefix below which its whole pattern is, and its requests
/// belong there too. So the definition `com.example.*` belongs to no namespace `com.example.team`, although it matches
/// identifiers below that. A namespace below another one stands alone: what it has does not count in the other one.
package struct Namespaces: Hashable, Sendable {
  /// In the order of the prefixes.
  package private(set) var all: [Namespace] = []
  /// After this time a use counts half.
  package var useHalfLife = Duration.seconds(3600)
  private var byPrefix: [String: Namespace] = [:]

  /// The most namespaces.
  package static let limit = 256
  /// The half-lives that are accepted.
  package static let halfLives = Duration.seconds(60)...Duration.seconds(30 * 86_400)

  /// - Parameter namespaces: have different prefixes.
  package init(_ namespaces: [Namespace] = [], useHalfLife: Duration = .seconds(3600)) {
    all = namespaces.sorted { $0.prefix < $1.prefix }
    self.useHalfLife = useHalfLife
    byPrefix = Dictionary(all.map { ($0.prefix, $0) }) { first, _ in first }
  }

  /// Whether the fleet has none. Nothing is counted for namespaces then.
  package var isEmpty: Bool { all.isEmpty }

  /// The namespace with this prefix. What is not in the list has the weight 1 and no quotas.
  package subscript(prefix: String) -> Namespace { byPrefix[prefix] ?? Namespace(prefix) }

  /// The prefix of the namespace to which a definition of this pattern belongs; empty if it belongs to none.
  package func prefix(of pattern: IdentifierPattern) -> String {
    guard !isEmpty else { return "" }
    var rest = pattern.isWildcard ? pattern.rawValue.dropLast(2) : pattern.rawValue[...]
    while true {
      if let found = byPrefix[String(rest)] { return found.prefix }
      guard let dot = rest.lastIndex(of: ".") else { return "" }
      rest = rest[..<dot]
    }
  }

  package func namespace(of pattern: IdentifierPattern) -> Namespace { self[prefix(of: pattern)] }

  /// A text that all coordinators with the same namespaces have, and no others; `nil` if there are none.
  package var digest: String? {
    guard !isEmpty else { return nil }
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in all.map(\.line).joined(separator: "\n").utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    for byte in "\(useHalfLife.nanoseconds)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    let text = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}

extension Namespace {
  /// Everything that decides, as one line.
  fileprivate var line: String {
    let limits = [quotas.pending, quotas.running, quotas.slots, quotas.gpus].map { $0.map(String.init) ?? "-" }
    let allowance = quotas.dailyAllowance.map { "\($0.nanoseconds)" } ?? "-"
    return ([prefix, owner?.rawValue ?? "", "\(weight)"] + limits + [allowance]).joined(separator: "\t")
  }
}
