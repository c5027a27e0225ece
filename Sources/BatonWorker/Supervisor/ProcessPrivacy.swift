import CBatonProcess

/// Keeps what this process has in its memory, its environment and its descriptors (the token, credentials of telemetry)
/// from other processes of the same user: from the commands of jobs above all.
package enum ProcessPrivacy {
  /// In the environment of a process that debuggers, perf and core dumps of its own user are to reach.
  package static let exemption = "BATON_ALLOW_DEBUGGING"

  /// Call it first of all in a process that has the token. What this process starts is not hidden.
  /// - Returns: whether other processes of this user are kept out from now on.
  @discardableResult
  package static func hide(environment: [String: String]) -> Bool {
    guard environment[exemption] != "1" else { return false }
    return baton_hide_process() == 0
  }

  /// Nil where the system does not say (macOS).
  package static var isHidden: Bool? {
    let answer = baton_is_readable()
    return answer < 0 ? nil : answer == 0
  }
}
