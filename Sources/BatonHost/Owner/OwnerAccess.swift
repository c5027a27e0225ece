import BatonBase
import CBatonHost

/// Decides who may command a worker as its host's owner: root, the worker's own user, and the members of the group
/// `baton-owner`.
struct OwnerAccess: Sendable {
  /// The process at the other end of a connection.
  struct Peer: Hashable, Sendable {
    var user: UInt32
    var group: UInt32
  }

  static let groupName = "baton-owner"

  /// The peer of a socket; `nil` if the system does not tell.
  var peer: @Sendable (_ socket: Int32) -> Peer?
  /// The id of the group `baton-owner`; `nil` if the host has no such group.
  var ownerGroup: @Sendable () -> UInt32?
  /// All groups of a user, by the host's user directory.
  var groups: @Sendable (Peer) -> [UInt32]
  /// The name of a user, for people.
  var name: @Sendable (UInt32) -> String

  /// The host's own user directory. If it is kept on the network, its functions wait for the network.
  static let system = OwnerAccess(
    peer: { socket in
      var (user, group): (UInt32, UInt32) = (0, 0)
      return baton_peer(socket, &user, &group) == 0 ? Peer(user: user, group: group) : nil
    }, ownerGroup: { UserDirectory.group(groupName) }, groups: { [$0.group] + UserDirectory.groups(of: $0.user) },
    name: { UserDirectory.name(of: $0) ?? "uid \($0)" })

  /// Returns `nil` if the peer may command the worker. Otherwise returns why not, and what to do.
  func refusal(of peer: Peer?) -> String? {
    guard let peer else { return "the system does not tell which user sent this command" }
    if peer.user == 0 || peer.user == geteuid() { return nil }
    if let group = ownerGroup(), groups(peer).contains(group) { return nil }
    return
      "\(name(peer.user)) is not permitted to command this worker: only root, \(name(geteuid())) and members of the "
      + "group '\(Self.groupName)' are. To join the group: sudo usermod -aG \(Self.groupName) \(name(peer.user)), "
      + "then log in again"
  }
}

/// Looks up users and groups of the host.
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

  /// The largest number of groups of a user: NGROUPS_MAX of Linux.
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

  /// The size of the buffer for an entry. The entry of a group contains the names of all its members.
  private static let bufferBytes = 1 << 20
}

/// The struct `group` of grp.h. Within `UserDirectory`, the name `group` means the function.
private typealias GroupEntry = group
