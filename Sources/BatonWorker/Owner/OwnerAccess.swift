import CBatonProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Who may tell a worker what the host may do: root, the worker's own user, and the members of a group.
struct OwnerAccess: Sendable {
  /// The other end of a connection.
  struct Peer: Hashable, Sendable {
    var user: UInt32
    var group: UInt32
  }

  static let groupName = "baton-owner"

  /// Who is there; nil if the system does not say.
  var peer: @Sendable (_ socket: Int32) -> Peer?
  /// The number of the group; nil where the host has none of that name.
  var ownerGroup: @Sendable () -> UInt32?
  /// Every group of a user, by the host's directory of users.
  var groups: @Sendable (Peer) -> [UInt32]
  /// What people call a user.
  var name: @Sendable (UInt32) -> String

  /// The host's own. Its questions may wait for a network, where users are kept there.
  static let system = OwnerAccess(
    peer: { socket in
      var (user, group): (UInt32, UInt32) = (0, 0)
      return baton_peer(socket, &user, &group) == 0 ? Peer(user: user, group: group) : nil
    }, ownerGroup: { UserDirectory.group(groupName) }, groups: { [$0.group] + UserDirectory.groups(of: $0.user) },
    name: { UserDirectory.name(of: $0) ?? "uid \($0)" })

  /// Nil if the peer may ask; else why not, and what to do.
  func refusal(of peer: Peer?) -> String? {
    guard let peer else { return "the system does not say who asks" }
    if peer.user == 0 || peer.user == geteuid() { return nil }
    if let group = ownerGroup(), groups(peer).contains(group) { return nil }
    return "\(name(peer.user)) may not ask: only root, \(name(geteuid())) and members of the group "
      + "'\(Self.groupName)' may. To join: sudo usermod -aG \(Self.groupName) \(name(peer.user)), then log in again"
  }
}

/// The host's users and groups.
enum UserDirectory {
  static func name(of user: UInt32) -> String? { entry(of: user)?.name }

  static func groups(of user: UInt32) -> [UInt32] {
    guard let entry = entry(of: user) else { return [] }
    #if os(Linux)
      var groups = [gid_t](repeating: 0, count: most)
      var count = Int32(groups.count)
      guard getgrouplist(entry.name, entry.group, &groups, &count) >= 0 else { return [entry.group] }
      return groups.prefix(Int(count)).map { UInt32($0) }
    #else
      var groups = [Int32](repeating: 0, count: most)
      var count = Int32(groups.count)
      guard getgrouplist(entry.name, Int32(entry.group), &groups, &count) >= 0 else { return [entry.group] }
      return groups.prefix(Int(count)).map { UInt32(bitPattern: $0) }
    #endif
  }

  /// NGROUPS_MAX of Linux.
  private static let most = 65_536

  static func group(_ name: String) -> UInt32? {
    var (entry, found): (GroupEntry, UnsafeMutablePointer<GroupEntry>?) = (GroupEntry(), nil)
    var buffer = [CChar](repeating: 0, count: bufferBytes)
    guard getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
    return entry.gr_gid
  }

  private static func entry(of user: UInt32) -> (name: String, group: UInt32)? {
    var (entry, found): (passwd, UnsafeMutablePointer<passwd>?) = (passwd(), nil)
    var buffer = [CChar](repeating: 0, count: bufferBytes)
    guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.pw_name else {
      return nil
    }
    return (String(cString: name), entry.pw_gid)
  }

  /// A group lists all its members in it.
  private static let bufferBytes = 1 << 20
}

/// The `group` of grp.h: inside `UserDirectory` the name is a function.
private typealias GroupEntry = group
