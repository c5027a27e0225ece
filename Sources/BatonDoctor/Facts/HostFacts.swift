package import BatonModel
package import BatonStore

/// What `baton doctor` found on a host: only readings, without a judgement. `findings` judges them.
package struct HostFacts: Hashable, Sendable {
  /// What the host is used for. `baton doctor` checks only what this role needs.
  package enum Role: String, CaseIterable, Hashable, Sendable { case coordinator, worker }

  package var roles = Set(Role.allCases)
  /// The errors in settings that could not be read.
  package var mistakes: [String] = []
  package var user = User(id: 0, name: "root")
  /// The coordinator's data folder; `nil` if the host is not checked as a coordinator.
  package var store: Folder?
  /// The worker's data folder; `nil` if the host is not checked as a worker.
  package var work: Folder?
  package var database: StoreInspection?
  /// The server with the store; `nil` if the store is in the data folder.
  package var postgres: PostgresInspection?
  /// The id of the process that has the store open; `nil` if no process has it open, or if this is not known.
  package var holder: Int32?
  package var tokens: [Token] = []
  package var clock = Clock()
  package var coordinators = [Coordinator(address: "", answer: .unreachable(""))]
  package var groups: Groups?
  /// How a worker on this host would fence commands in; `nil` if the host is not checked as a worker.
  package var sandbox: HostSandbox?
  /// What a worker on this host would let commands do; `nil` if the host is not checked as a worker.
  package var permissions: CommandPermissions?
  package var owner: OwnerSocket?
  package var limits = Limits()
  package var versions = Versions()
  package var conditions: Conditions?

  package init() {}

  package struct User: Hashable, Sendable {
    package var id: UInt32
    package var name: String
  }

  /// The host's clock.
  package struct Clock: Hashable, Sendable {
    /// Whether the clock is synchronised; `nil` if the kernel does not say.
    package var isSynchronised: Bool?
    /// The maximum error of the clock, as the kernel estimates it.
    package var error: Duration?
  }

  /// The coordinator, and how it answered.
  package struct Coordinator: Hashable, Sendable {
    package enum Answer: Hashable, Sendable {
      /// The coordinator answered. `ahead` is how much its wall clock is ahead of this host's, and `within` is the
      /// precision of this measurement.
      case answered(version: String?, ahead: Duration?, within: Duration)
      case notPermitted(String)
      case unreachable(String)
    }

    package var address: String
    package var answer: Answer

    package init(address: String, answer: Answer) {
      self.address = address
      self.answer = answer
    }
  }

  /// Whether launches can have control groups.
  package struct Groups: Hashable, Sendable {
    /// The control group below which launches have their groups; `nil` if there can be no control groups, for the
    /// reason `why`.
    package var base: String?
    package var why = ""
    /// Whether a `cpuLimit` can be enforced there.
    package var hasProcessorTime = false
  }

  /// What `baton-worker pause` would find on this host.
  package enum OwnerSocket: Hashable, Sendable {
    case answers(path: String)
    /// Several workers answer. Each text has a worker's name and socket.
    case several([String])
    case absent(String)
    case notPermitted(String)
  }

  /// The resource limits of this process and its children; `nil` where there is no limit.
  package struct Limits: Hashable, Sendable {
    package var openFiles: Int64?
    package var openFilesAtMost: Int64?
    package var processes: Int64?

    package init(openFiles: Int64? = nil, openFilesAtMost: Int64? = nil, processes: Int64? = nil) {
      self.openFiles = openFiles
      self.openFilesAtMost = openFilesAtMost
      self.processes = processes
    }
  }

  package struct Versions: Hashable, Sendable {
    package var baton = ""
    package var sqlite = ""
    /// The system's name, release and machine, such as "Linux 6.1.0 x86_64".
    package var system = ""
  }
}
