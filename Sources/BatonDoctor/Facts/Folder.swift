package import BatonStore

extension HostFacts {
  /// A data folder, or the place where it would be created.
  package struct Folder: Hashable, Sendable {
    /// The absolute path of the data folder.
    package var path: String
    /// The data folder if it exists, else its nearest existing parent folder. All other properties describe this
    /// folder.
    package var nearest: String
    package var isFolder = true
    package var owner: UInt32 = 0
    /// The permissions of `nearest`: the lower twelve bits of `st_mode`.
    package var mode: UInt32 = 0o700
    /// The system's error message if no file could be created and written in `nearest`; else `nil`.
    package var failure: String?
    /// The file system that is mounted there; `nil` if the system does not say.
    package var mount: MountedFileSystem?
    package var room: Room?
    package var syncs: Syncs?

    package var exists: Bool { path == nearest }

    package init(path: String, nearest: String? = nil) {
      self.path = path
      self.nearest = nearest ?? path
    }
  }

  /// The free room on a file system.
  package struct Room: Hashable, Sendable {
    /// Free bytes for users other than root.
    package var freeBytes: Int64
    /// Free inodes; `nil` if the file system does not count inodes.
    package var freeFiles: Int64?
    package var isReadOnly = false
  }

  /// How fast writes are durable: the result of repeatedly writing 4 KiB and syncing them to the disk.
  package struct Syncs: Hashable, Sendable {
    package var count: Int
    package var lasted: Duration
    package var slowest: Duration

    package var perSecond: Double { Double(count) / max(0.000_001, lasted.milliseconds / 1000) }
  }

  /// A token file, or the place where one was looked for.
  package struct Token: Hashable, Sendable {
    package enum State: Hashable, Sendable {
      case missing
      case there(owner: UInt32, mode: UInt32)
    }

    package enum Kind: Hashable, Sendable {
      /// The token in the coordinator's data folder.
      case own
      /// The copy of the token that a coordinator leaves for clients of its user.
      case published
      /// A file that the settings name: `BATON_TOKEN_FILE`, or `tokenFile` in worker.yaml.
      case named
    }

    package var path: String
    package var kind: Kind
    package var state: State
    package var isReadable: Bool
  }
}

extension Duration {
  var milliseconds: Double { Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15 }
}
