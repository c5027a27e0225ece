import BatonBase

/// A user of this host as which a command runs.
package struct CommandUser: Hashable, Sendable {
  package let name: String
  package let id: UInt32
  package let group: UInt32
  /// All groups of the user, the first one included.
  package let groups: [UInt32]
  package let home: String

  package init(name: String, id: UInt32, group: UInt32, groups: [UInt32], home: String) {
    (self.name, self.id, self.group, self.groups, self.home) = (name, id, group, groups, home)
  }

  /// Looks the user up on this host (getpwnam_r(3)); `nil` if there is none.
  /// - Throws: `SystemError` if the system does not tell.
  package static func find(_ name: String) throws(SystemError) -> CommandUser? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 1 << 16)
    let code = getpwnam_r(name, &entry, &buffer, buffer.count, &found)
    guard code == 0 else {
      throw SystemError(
        .failed, "cannot look up the user \(name): \(SystemCall.explanation(of: code))", cause: code)
    }
    guard let found else { return nil }
    let (id, group) = (found.pointee.pw_uid, found.pointee.pw_gid)
    return CommandUser(
      name: name, id: id, group: group, groups: groups(of: name, group),
      home: found.pointee.pw_dir.map { String(cString: $0) } ?? "/")
  }

  private static func groups(of name: String, _ group: UInt32) -> [UInt32] {
    #if os(Linux)
      var count: Int32 = 1 << 10
      var groups = [gid_t](repeating: group, count: Int(count))
      // With more groups than that the command gets the first one only, which is less than it may have.
      guard getgrouplist(name, group, &groups, &count) >= 0 else { return [group] }
      return Array(groups[..<Int(count)])
    #else
      return [group]
    #endif
  }

  /// The value of `--user` of `baton-exec`.
  var word: String { ([id, group] + groups).map(String.init).joined(separator: ":") }
}
