package import BatonModel
package import BatonStore

package struct HostReport: Hashable, Sendable {
  package enum State: String, Hashable, Sendable, CaseIterable {
    /// The host holds a lease and takes launches.
    case ready
    /// The host holds a lease, but its connection is away at the moment.
    case away
    case draining
    /// The host's owner has paused it.
    case paused
    /// The host's owner lends it only at other hours.
    case outsideHours
    /// The host holds no lease.
    case gone
  }

  package var name: HostName
  package var state: State
  package var version: String
  package var capabilities: Capabilities
  package var conditions: Conditions
  package var usedSlots: Int
  /// The identifiers of the launches that run on the host.
  package var running: [JobIdentifier]
  /// When the coordinator that serves it heard of it last. Of a host that is connected to another coordinator, this is
  /// the last sign of that coordinator's life.
  package var lastSeenAt: Timestamp?
  /// The number of the coordinator that serves the host; nil if no coordinator does, or if it is not said.
  package var coordinator: Int64?
  /// How long ago the coordinator that answers read this from the store, because another one serves the host; nil if it
  /// knows the present state.
  package var age: Duration?
}

/// One coordinator of the fleet, as the coordinator that answers knows it.
package struct CoordinatorReport: Hashable, Sendable {
  /// 1, 2 … in the order of the coordinators' starts. A coordinator that starts again has another number.
  package var number: Int64
  package var place: CoordinatorPlace
  /// How many hosts it serves.
  package var hosts: Int
  package var isSteward: Bool
  /// Whether it is the one that answers.
  package var answers: Bool
  /// For how long its beat has stood still by the clock of the coordinator that answers; nil if that one has not seen a
  /// beat yet, or if coordinators of this store do not beat, because there is only one.
  package var beatAge: Duration?
  package var isEnded: Bool
  /// How long ago it ended; nil if it has not, or if that is not known.
  package var endedFor: Duration?
  /// What tells its list of namespaces from others; nil if it has none.
  package var namespaces: String?

  package init(
    number: Int64, place: CoordinatorPlace, hosts: Int, isSteward: Bool, answers: Bool, beatAge: Duration? = nil,
    isEnded: Bool = false, endedFor: Duration? = nil, namespaces: String? = nil
  ) {
    self.namespaces = namespaces
    (self.number, self.place, self.hosts, self.isSteward) = (number, place, hosts, isSteward)
    (self.answers, self.beatAge, self.isEnded, self.endedFor) = (answers, beatAge, isEnded, endedFor)
  }
}
