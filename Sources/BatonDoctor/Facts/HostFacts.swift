package import BatonModel
package import BatonStore

/// What `baton doctor` found on a host: readings, without an opinion. `findings` are what it makes of them.
package struct HostFacts: Hashable, Sendable {
  /// What the host is to be: it is looked at for that alone.
  package enum Role: String, CaseIterable, Hashable, Sendable { case coordinator, worker }

  package var roles = Set(Role.allCases)
  /// What is wrong with settings, where they could not be read.
  package var mistakes: [String] = []
  package var user = User(id: 0, name: "root")
  /// The coordinator's data folder; nil if it is not one that is looked at.
  package var store: Folder?
  /// The worker's.
  package var work: Folder?
  package var database: StoreInspection?
  /// Who has the store open.
  package var holder: Int32?
  package var tokens: [Token] = []
  package var clock = Clock()
  package var coordinator = Coordinator(address: "", answer: .unreachable(""))
  package var groups: Groups?
  package var owner: OwnerSocket?
  package var limits = Limits()
  package var versions = Versions()
  package var conditions: Conditions?

  package init() {}

  package struct User: Hashable, Sendable {
    package var id: UInt32
    package var name: String

    package init(id: UInt32, name: String) {
      self.id = id
      self.name = name
    }
  }

  /// The host's own clock.
  package struct Clock: Hashable, Sendable {
    /// Nil where the kernel does not say.
    package var isSynchronised: Bool?
    /// The most that it is off by, as the kernel estimates it.
    package var error: Duration?

    package init(isSynchronised: Bool? = nil, error: Duration? = nil) {
      self.isSynchronised = isSynchronised
      self.error = error
    }
  }

  package struct Coordinator: Hashable, Sendable {
    package enum Answer: Hashable, Sendable {
      /// `ahead`: how much its wall clock is ahead of this host's; `within`: how exactly that was measured.
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

  /// Control groups for launches.
  package struct Groups: Hashable, Sendable {
    /// Below which they are; nil if there can be none.
    package var base: String?
    package var why: String
    /// A `cpuLimit` can be enforced there.
    package var hasProcessorTime: Bool

    package init(base: String?, why: String = "", hasProcessorTime: Bool = false) {
      self.base = base
      self.why = why
      self.hasProcessorTime = hasProcessorTime
    }
  }

  /// What `baton-worker pause` would find.
  package enum OwnerSocket: Hashable, Sendable {
    case answers(path: String)
    /// Several workers answer, each with its name and socket.
    case several([String])
    case absent(String)
    case notPermitted(String)
  }

  /// Of this process and what it starts; nil where there is none.
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
    /// "Linux 6.1.0 x86_64".
    package var system = ""

    package init(baton: String = "", sqlite: String = "", system: String = "") {
      self.baton = baton
      self.sqlite = sqlite
      self.system = system
    }
  }
}
