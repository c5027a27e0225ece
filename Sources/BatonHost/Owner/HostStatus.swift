package import BatonModel
package import BatonProcess

/// What a worker tells its host's owner: the output of `baton-worker status`. Its JSON is stable: later versions add
/// keys and never change existing ones.
package struct HostStatus: Hashable, Sendable, Codable {
  /// The date of this status.
  package var at: StatusDate
  package var name: String
  package var version: String
  package var coordinator: Coordinator
  package var owner: Owner
  package var slots: Int
  package var usedSlots: Int
  /// How commands are confined; absent for a worker that runs none, or that is older than this key.
  package var sandbox: Sandbox?
  package var conditions: [Fact]
  /// The launches that run or stop on this host. Empty if the host is free.
  package var launches: [Launch]
  package var today: Today

  package init(
    at: Timestamp, name: String, version: String, coordinator: Coordinator, owner: OwnersWord, slots: Int,
    usedSlots: Int, sandbox: HostSandbox? = nil, conditions: Conditions, launches: [Launch], today: Today
  ) {
    self.at = StatusDate(at)
    self.name = name
    self.version = version
    self.coordinator = coordinator
    self.owner = Owner(owner)
    self.slots = slots
    self.usedSlots = usedSlots
    self.sandbox = sandbox.map { Sandbox($0) }
    self.conditions = Fact.all(of: conditions)
    self.launches = launches
    self.today = today
  }

  package var isFree: Bool { launches.isEmpty }

  package struct Coordinator: Hashable, Sendable, Codable {
    package var address: String
    package var isConnected: Bool

    package init(address: String, isConnected: Bool) {
      self.address = address
      self.isConnected = isConnected
    }
  }

  package struct Sandbox: Hashable, Sendable, Codable {
    /// The level that the owner requires: `none`, `basic` or `strict`. A later version may have more levels, here and
    /// below.
    package var required: String
    /// The highest level that the host can give.
    package var available: String
    /// Why the host gives no higher level; empty if it gives the highest.
    package var problem: String

    package init(_ sandbox: HostSandbox) {
      required = sandbox.required?.rawValue ?? "none"
      available = sandbox.available?.rawValue ?? "none"
      problem = sandbox.problem
    }
  }

  /// What the owner lets the host do now.
  package struct Owner: Hashable, Sendable, Codable {
    /// `accepting`, `paused` or `outsideHours`. A later version may have more states.
    package var state: String
    /// Who paused the host.
    package var by: String?
    package var until: StatusDate?

    package init(_ word: OwnersWord) {
      switch word {
      case .accepting: state = "accepting"
      case .paused(let by, let until): (state, self.by, self.until) = ("paused", by, until.map { StatusDate($0) })
      case .outsideHours(let until): (state, self.until) = ("outsideHours", StatusDate(until))
      }
    }
  }

  package struct Launch: Hashable, Sendable, Codable {
    package var identifier: String
    /// The request's number within its identifier.
    package var request: Int
    package var launch: Int
    package var kind: String
    package var since: StatusDate
    package var completedUnits: Int64
    package var totalUnits: Int64?
    package var batches: Int
    package var expiring: Expiring?
    package var cpuSeconds: StatusSeconds?
    /// Resident memory in bytes. A page that several processes share counts for each of them.
    package var memoryBytes: Int64?

    /// - Parameter use: `nil` for a handler, which shares the worker's process, and if the system does not tell.
    package init(
      identifier: JobIdentifier, request: Int, launch: Int, kind: JobKind, since: Timestamp, progress: Progress,
      expiring: Expiring? = nil, use: ProcessUse? = nil
    ) {
      self.identifier = identifier.rawValue
      self.request = request
      self.launch = launch
      self.kind = kind.rawValue
      self.since = StatusDate(since)
      completedUnits = progress.completedUnits
      totalUnits = progress.totalUnits
      batches = progress.batches
      self.expiring = expiring
      cpuSeconds = use.map { StatusSeconds($0.cpuTime) }
      memoryBytes = use?.memory
    }
  }

  package struct Expiring: Hashable, Sendable, Codable {
    /// The code of the `ExpiryReason`.
    package var reason: String
    package var deadline: StatusDate

    package init(_ reason: ExpiryReason, deadline: Timestamp) {
      self.reason = reason.code
      self.deadline = StatusDate(deadline)
    }
  }

  /// What launches have used since midnight UTC.
  package struct Today: Hashable, Sendable, Codable {
    package var launches: Int
    package var launchSeconds: StatusSeconds
    package var cpuSeconds: StatusSeconds
    package var dailyAllowanceSeconds: StatusSeconds?

    package init(_ use: HostUse, dailyAllowance: Duration? = nil) {
      launches = use.launches
      launchSeconds = StatusSeconds(use.launchTime)
      cpuSeconds = StatusSeconds(use.cpuTime)
      dailyAllowanceSeconds = dailyAllowance.map { StatusSeconds($0) }
    }
  }
}
