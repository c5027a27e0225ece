/// The name of a worker's host, unique in the fleet.
package struct HostName: Hashable, Sendable, Comparable, CustomStringConvertible {
  package let rawValue: String
  package init(_ rawValue: String) { self.rawValue = rawValue }
  package var description: String { rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
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
