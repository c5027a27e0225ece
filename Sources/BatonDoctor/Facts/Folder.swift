package import BatonStore

extension HostFacts {
  /// A data folder, or the place where it would be made.
  package struct Folder: Hashable, Sendable {
    /// Absolute.
    package var path: String
    /// The same, or the nearest folder on the way to it that is there: the rest is about that.
    package var nearest: String
    package var isFolder = true
    package var owner: UInt32 = 0
    /// Of `nearest`: the twelve lower bits of st_mode.
    package var mode: UInt32 = 0o700
    /// The system's words, if no file could be made and written there.
    package var failure: String?
    /// Nil where the system does not say what is mounted there.
    package var mount: MountedFileSystem?
    package var room: Room?
    package var syncs: Syncs?

    package var exists: Bool { path == nearest }

    package init(path: String, nearest: String? = nil) {
      self.path = path
      self.nearest = nearest ?? path
    }
  }

  package struct Room: Hashable, Sendable {
    /// For users other than root.
    package var freeBytes: Int64
    /// Nil where inodes are not counted.
    package var freeFiles: Int64?
    package var isReadOnly: Bool

    package init(freeBytes: Int64, freeFiles: Int64? = nil, isReadOnly: Bool = false) {
      self.freeBytes = freeBytes
      self.freeFiles = freeFiles
      self.isReadOnly = isReadOnly
    }
  }

  /// Writing 4 KiB and making them durable, again and again.
  package struct Syncs: Hashable, Sendable {
    package var count: Int
    package var lasted: Duration
    package var slowest: Duration

    package init(count: Int, lasted: Duration, slowest: Duration) {
      self.count = count
      self.lasted = lasted
      self.slowest = slowest
    }

    package var perSecond: Double { Double(count) / max(0.000_001, lasted.milliseconds / 1000) }
  }

  package struct Token: Hashable, Sendable {
    package enum State: Hashable, Sendable {
      case missing
      case there(owner: UInt32, mode: UInt32)
    }

    package enum Kind: Hashable, Sendable {
      /// In the coordinator's data folder.
      case own
      /// Where a coordinator leaves it for clients of its user.
      case published
      /// The person said so: BATON_TOKEN_FILE, or `tokenFile` in worker.yaml.
      case named
    }

    package var path: String
    package var kind: Kind
    package var state: State
    package var isReadable: Bool

    package init(path: String, kind: Kind, state: State, isReadable: Bool) {
      self.path = path
      self.kind = kind
      self.state = state
      self.isReadable = isReadable
    }
  }
}

extension Duration {
  var milliseconds: Double { Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15 }
}
