import BatonBase
import BatonProcess
import CBatonHost

/// The socket file on which a worker listens for its host's owner. The worker's user may use it, and the members of the
/// owners' group if the host has the group.
struct OwnerListener: Sendable {
  let socket: UnixSocket
  let path: String
  /// Why the group's members cannot use the socket, and what to do. `nil` if they can, or if there is no such group.
  let warning: String?
  private let file: FileIdentity

  /// Creates the socket file and listens on it. A file that a dead worker left is replaced. Waits for the disk.
  /// - Parameter group: the id of the owners' group, or `nil` if the host has no such group.
  /// - Throws: `SystemError` if it cannot listen at this path, or another worker listens there.
  init(_ place: OwnerSocketPath, group: UInt32?) throws {
    let path = place.path
    guard path.utf8.count <= UnixSocket.longestPath else {
      throw SystemError(
        .unusable,
        "the path of the owner's socket is too long (\(path.utf8.count) bytes, at most \(UnixSocket.longestPath) are "
          + "possible): \(path); set 'ownerSocket' to a shorter path")
    }
    if place.makesFolder { try Self.makeOwnFolder(FileIdentity.folder(of: path)) }
    guard let socket = UnixSocket.make() else { throw SystemCall.failure("cannot make a socket for", path) }
    try Self.bind(socket, path)
    // Clients cannot connect before `listen`, so no client can use the socket before its mode is set.
    warning = try Self.protect(path, group: group)
    guard listen(socket.descriptor, Self.backlog) == 0, let file = FileIdentity(of: path) else {
      throw SystemCall.failure("cannot listen on", path)
    }
    self.socket = socket
    self.path = path
    self.file = file
  }

  private static let backlog: Int32 = 64

  /// Removes the socket file, unless another worker has replaced it by its own.
  func remove() {
    if FileIdentity(of: path) == file { unlink(path) }
  }

  private static func bind(_ socket: UnixSocket, _ path: String) throws {
    var failure = socket.bind(to: path)
    if failure == EADDRINUSE {
      try removeStale(path)
      failure = socket.bind(to: path)
    }
    guard failure == 0 else {
      throw SystemError(
        .unusable,
        "cannot listen for the host's owner on \(path): \(SystemCall.explanation(of: failure)); "
          + "set 'ownerSocket' to another path")
    }
  }

  private static func removeStale(_ path: String) throws {
    guard let found = FileIdentity(of: path) else { return }
    guard found.isSocket else {
      throw SystemError(.unusable, "\(path) is not a socket: remove it, or set 'ownerSocket' to another path")
    }
    guard let socket = UnixSocket.make() else { throw SystemCall.failure("cannot make a socket for", path) }
    guard socket.connect(to: path) == ECONNREFUSED else {
      throw SystemError(
        .inUse, "another worker listens on \(path): give this worker another 'name', or another 'ownerSocket'")
    }
    if FileIdentity(of: path) == found { unlink(path) }
  }

  private static func protect(_ path: String, group: UInt32?) throws -> String? {
    guard chmod(path, 0o600) == 0 else { throw SystemCall.failure("cannot protect", path) }
    guard let group else { return nil }
    if chown(path, uid_t.max, group) == 0, chmod(path, 0o660) == 0 { return nil }
    return "members of the group '\(OwnerAccess.groupName)' cannot pause this host: \(path) cannot be given to the "
      + "group (\(SystemCall.explanation(of: errno))); make the worker's user a member of it"
  }

  private static func makeOwnFolder(_ folder: String) throws {
    if mkdir(folder, 0o700) == 0 { return }
    guard errno == EEXIST else {
      throw SystemError(
        .unusable,
        "the folder \(folder) for the owner's socket cannot be made: \(SystemCall.explanation(of: errno)); "
          + "check XDG_RUNTIME_DIR, or set 'ownerSocket'")
    }
    // A folder that others may write to is not changed: its user may have made it so on purpose.
    guard let found = FileIdentity(of: folder), found.isOwnFolder, found.permissions & 0o022 == 0 else {
      throw SystemError(
        .unusable, "\(folder) is not a folder that only this user may write to: set 'ownerSocket' to a path elsewhere")
    }
  }
}

/// Identifies a file by device and inode, so that a new file with the same path can be told from the old one. A
/// symbolic link is identified itself, not its target.
package struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64
  let user: UInt32
  private let mode: mode_t

  /// - Returns: `nil` if there is no such file, or it cannot be examined.
  package init?(of path: String) {
    var identity = baton_identity()
    guard baton_identify(path, &identity) == 0 else { return nil }
    (device, inode, user, mode) = (identity.device, identity.inode, identity.user, mode_t(identity.mode))
  }

  package var isSocket: Bool { mode & S_IFMT == S_IFSOCK }
  var isOwnFolder: Bool { mode & S_IFMT == S_IFDIR && user == geteuid() }
  var permissions: mode_t { mode & 0o7777 }

  package static func == (left: Self, right: Self) -> Bool { left.device == right.device && left.inode == right.inode }
  package func hash(into hasher: inout Hasher) { hasher.combine(inode) }

  /// The folder that contains `path`.
  package static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }
}
