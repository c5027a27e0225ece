package import BatonModel
package import BatonStore

/// The answer of `baton explain`: why a request does or does not run, and what would start it.
package struct Explanation: Hashable, Sendable {
  package enum Verdict: String, Hashable, Sendable, CaseIterable {
    case running
    case ended
    case waiting
    /// No known host can ever run the request as the fleet is configured.
    case impossible
  }

  /// One obstacle.
  package struct Line: Hashable, Sendable {
    /// The host of the obstacle; nil for an obstacle of the request itself or of the whole fleet.
    package var host: HostName?
    package var code: String
    package var text: String
    package var remedy: String
    package var isPermanent: Bool
    /// The source of an obstacle that comes from the conditions of the host: `sysfs`, `assumed`, `simulated` …
    package var source: String?
    /// The reading of that source, word for word.
    package var raw: String?
    /// How long the condition has had this value; nil if that is not known.
    package var age: Duration?
    /// When the host was last heard of.
    package var reportedAt: Timestamp?
    /// When the obstacle clears by itself; nil if that is not known.
    package var clearsAt: Timestamp?
  }

  /// The place of the request's class among the ready classes: by priority, and within one priority by recent use
  /// (contract, row 25).
  package struct Order: Hashable, Sendable {
    /// When a person last used the definition, on the wall clock; nil if no person has used it.
    package var lastUsedAt: Timestamp?
    /// True if this use is recent enough for the definition to go before definitions of its priority without recent
    /// use.
    package var hasRecentUse: Bool
    /// How many classes with ready requests go before its own class, because of their priority or their recent use.
    package var classesAhead = 0
    /// The priority that counts, because the first request of the class has waited long; nil if it is its own.
    package var agedPriority: Priority?
    /// The standing of the request's namespace; nil if the fleet has no namespaces.
    package var namespace: NamespaceStanding?
  }

  /// How much a namespace was served, and which ones go before it.
  package struct NamespaceStanding: Hashable, Sendable {
    /// Empty for what belongs to no namespace.
    package var prefix: String
    package var weight: Int
    /// The use in slot-seconds, of which old ones count less, and that of all namespaces together.
    package var use: Double
    package var useOfAll: Double
    /// The prefixes of the namespaces that wait with the same priority and were served less for their weights.
    package var ahead: [String]

    package init(prefix: String, weight: Int, use: Double, useOfAll: Double, ahead: [String]) {
      (self.prefix, self.weight, self.use, self.useOfAll) = (prefix, weight, use, useOfAll)
      self.ahead = ahead
    }
  }

  /// A host that the request has reserved, because it has waited long and has found no room.
  package struct Reservation: Hashable, Sendable {
    package var host: HostName
    /// When room is expected there, on the wall clock.
    package var expectedAt: Timestamp
  }

  package var record: RequestRecord
  package var verdict: Verdict
  /// The obstacles of the request and the fleet, and then those of the hosts. The hosts that are nearest to taking the
  /// request come first.
  package var lines: [Line]
  /// How many requests of its class go before it, if it is pending.
  package var position: Int?
  /// What would start the request; empty if it is not pending.
  package var advice = ""
  /// The order among definitions; nil if the request is not pending.
  package var order: Order?
  package var reservation: Reservation?
  /// The hosts by their obstacles, if they are told together; `lines` then has those of the first host of each group.
  package var groups: ExplainedGroups?
}
