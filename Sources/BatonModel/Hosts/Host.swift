/// The name of a worker's host, unique in the fleet.
package struct HostName: Hashable, Sendable, Comparable, CustomStringConvertible {
  package let rawValue: String
  package init(_ rawValue: String) { self.rawValue = rawValue }
  package var description: String { rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Longest name of a host, in bytes.
  package static let maximumBytes = 63
  /// What `isWellFormed` asks, for people.
  package static let rule =
    "1 to 63 letters, digits, '.', '_' and '-' of ASCII, the first of them a letter or a digit"

  /// A name made of what a machine calls itself, for a worker that nobody named: what cannot be part of a name is `-`.
  package static func ofMachine(_ name: String) -> HostName {
    let bytes = name.utf8.prefix(Self.maximumBytes).map { byte in
      isAlphanumeric(byte) || byte == 0x2E || byte == 0x5F || byte == 0x2D ? byte : 0x2D
    }
    let text = String(decoding: bytes.drop { !Self.isAlphanumeric($0) }, as: UTF8.self)
    return HostName(text.isEmpty ? "host" : text)
  }

  /// `[A-Za-z0-9][A-Za-z0-9._-]{0,62}`: no text that a terminal, a path or a log takes for something else.
  package var isWellFormed: Bool {
    guard (1...Self.maximumBytes).contains(rawValue.utf8.count), let first = rawValue.utf8.first else { return false }
    return Self.isAlphanumeric(first)
      && rawValue.utf8.allSatisfy { Self.isAlphanumeric($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }
}

/// A random id that a worker draws when its process starts: two processes of one name never share it.
package struct Incarnation: Hashable, Sendable, CustomStringConvertible {
  package let rawValue: String
  package init(_ rawValue: String) { self.rawValue = rawValue }
  package var description: String { rawValue }
}

/// What a worker can do, announced before it may lease (contract, rows 3 and 4).
package struct Capabilities: Hashable, Sendable, Codable {
  /// How many slots its launches share.
  package var slots: Int
  package var kinds: Set<JobKind>
  /// Identifiers that its Swift code has handlers for.
  package var handlers: [IdentifierPattern]
  /// True for the stock worker: it runs definitions with `work`.
  package var runsCommands: Bool
  /// What may run on this host, by its owner's word; empty means everything.
  package var permittedIdentifiers: [IdentifierPattern]
  /// Launch time that may be used on this host in a day, by its owner's word; nil means no limit.
  package var dailyAllowance: Duration?

  package init(
    slots: Int, kinds: Set<JobKind> = Set(JobKind.allCases), handlers: [IdentifierPattern] = [],
    runsCommands: Bool = true, permittedIdentifiers: [IdentifierPattern] = [], dailyAllowance: Duration? = nil
  ) {
    self.slots = slots
    self.kinds = kinds
    self.handlers = handlers
    self.runsCommands = runsCommands
    self.permittedIdentifiers = permittedIdentifiers
    self.dailyAllowance = dailyAllowance
  }
}

/// Everything that policy knows of a host.
package struct Host: Hashable, Sendable {
  package var name: HostName
  package var capabilities: Capabilities
  package var conditions: Conditions
  /// False once its lease ran out; such a host is remembered for `hosts` and `explain`.
  package var hasLease: Bool
  /// An operator drains it, or it is shutting down.
  package var isDraining: Bool
  /// What the launches that run here hold.
  package var usedSlots: Int
  package var usedGPUs: [Int]
  /// What an operator moved away from here, until it is allowed again: definitions, or instances of a wildcard.
  package var evictions: Set<IdentifierPattern>
  /// Set while the host's own daily allowance is used up.
  package var allowanceRefillsAt: Timestamp?

  package init(
    name: HostName, capabilities: Capabilities, conditions: Conditions, hasLease: Bool = true, isDraining: Bool = false,
    usedSlots: Int = 0, usedGPUs: [Int] = [], evictions: Set<IdentifierPattern> = [],
    allowanceRefillsAt: Timestamp? = nil
  ) {
    self.name = name
    self.capabilities = capabilities
    self.conditions = conditions
    self.hasLease = hasLease
    self.isDraining = isDraining
    self.usedSlots = usedSlots
    self.usedGPUs = usedGPUs
    self.evictions = evictions
    self.allowanceRefillsAt = allowanceRefillsAt
  }

  /// Zero for a host that uses more than it says that it has.
  package var freeSlots: Int { capabilities.slots > usedSlots ? capabilities.slots - usedSlots : 0 }
}
