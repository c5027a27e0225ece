/// The name of a host, unique in the fleet. It is the name of the host's worker.
package struct HostName: Hashable, Sendable, Comparable, CustomStringConvertible {
  package let rawValue: String
  package init(_ rawValue: String) { self.rawValue = rawValue }
  package var description: String { rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// The longest name of a host, in bytes.
  package static let maximumBytes = 63
  /// The rule that `isWellFormed` checks, in words for people.
  package static let rule =
    "1 to 63 letters, digits, '.', '_' and '-' of ASCII, the first of them a letter or a digit"

  /// The name for a worker that was started without a name, made from the name of its machine. Bytes that a host's name
  /// cannot have become `-`. If no letter and no digit is left, the name is `host`.
  package static func ofMachine(_ name: String) -> HostName {
    let bytes = name.utf8.prefix(Self.maximumBytes).map { byte in
      isAlphanumeric(byte) || byte == 0x2E || byte == 0x5F || byte == 0x2D ? byte : 0x2D
    }
    let text = String(decoding: bytes.drop { !Self.isAlphanumeric($0) }, as: UTF8.self)
    return HostName(text.isEmpty ? "host" : text)
  }

  /// Whether the name matches `[A-Za-z0-9][A-Za-z0-9._-]{0,62}`. A name of this form has no special meaning in a
  /// terminal, a path or a log.
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

/// The random id of one run of a worker's process. The process draws the id when it starts, so that two processes with
/// the same host name have different incarnations.
package struct Incarnation: Hashable, Sendable, CustomStringConvertible {
  package let rawValue: String
  package init(_ rawValue: String) { self.rawValue = rawValue }
  package var description: String { rawValue }
}

/// What a worker can do. The worker says this in its hello, before it may hold a lease (contract, rows 3 and 4).
package struct Capabilities: Hashable, Sendable, Codable {
  /// How many slots the host has. Its launches share them.
  package var slots: Int
  package var kinds: Set<JobKind>
  /// The identifiers for which the worker has Swift handlers.
  package var handlers: [IdentifierPattern]
  /// Whether the worker runs definitions with `work`. The stock worker does.
  package var runsCommands: Bool
  /// The identifiers that the host's owner permits; empty means that every identifier is permitted.
  package var permittedIdentifiers: [IdentifierPattern]
  /// The launch time that the host's owner permits in a day; `nil` means no limit.
  package var dailyAllowance: Duration?
  /// How the host fences commands in; `nil` for a worker that does not say so.
  package var sandbox: HostSandbox?
  /// What the host's owner lets commands do; `nil` means everything.
  package var permissions: CommandPermissions?
  /// Whether the worker keeps to the shard that it is given. `nil` for a worker of an older version, which would do the
  /// whole request.
  package var runsShards: Bool?
  /// Whether the host carries out transfers; `nil` and false mean that it does not.
  package var runsTransfers: Bool?

  package init(
    slots: Int, kinds: Set<JobKind> = Set(JobKind.allCases), handlers: [IdentifierPattern] = [],
    runsCommands: Bool = true, permittedIdentifiers: [IdentifierPattern] = [], dailyAllowance: Duration? = nil,
    sandbox: HostSandbox? = nil, permissions: CommandPermissions? = nil, runsShards: Bool? = true
  ) {
    self.runsShards = runsShards
    self.slots = slots
    self.kinds = kinds
    self.handlers = handlers
    self.runsCommands = runsCommands
    self.permittedIdentifiers = permittedIdentifiers
    self.dailyAllowance = dailyAllowance
    self.sandbox = sandbox
    self.permissions = permissions
  }
}

/// Everything that `Policy` knows of a host.
package struct Host: Hashable, Sendable {
  package var name: HostName
  package var capabilities: Capabilities
  package var conditions: Conditions
  /// False after the host's lease has run out. The host is still listed by `baton hosts` and `baton explain`.
  package var hasLease: Bool
  /// Whether an operator drains the host, or its worker is shutting down.
  package var isDraining: Bool
  /// The slots that the running launches hold.
  /// The indices of the GPUs that the running launches hold.
  package var usedSlots: Int
  package var usedGPUs: [Int]
  /// The jobs that operators moved away from this host and have not allowed there again: whole definitions, or single
  /// identifiers of a wildcard.
  package var evictions: Set<IdentifierPattern>
  /// When the host's own daily allowance refills; `nil` unless the allowance is used up.
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

  /// The slots that no launch holds; 0 if the launches hold more slots than the host has.
  package var freeSlots: Int { capabilities.slots > usedSlots ? capabilities.slots - usedSlots : 0 }
}
