/// The user of this process.
package enum OwnUser {
  /// The name of the effective user, or its number if the system has no name for it.
  package static var name: String {
    if let entry = getpwuid(geteuid()), let name = entry.pointee.pw_name { return String(cString: name) }
    return "\(geteuid())"
  }
}
