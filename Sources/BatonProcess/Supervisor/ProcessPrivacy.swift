import CBatonProcess

/// Hides this process's memory, environment and descriptors from other processes of the same user, above all from the
/// commands of jobs. They contain the token and credentials for telemetry.
package enum ProcessPrivacy {
  /// The environment variable that, with the value `1`, keeps a process visible to debuggers, perf and core dumps.
  package static let exemption = "BATON_ALLOW_DEBUGGING"

  /// Hides this process. Call it at the very start of a process that has the token. Processes that it starts are not
  /// hidden.
  /// - Returns: whether the process is hidden from other processes of this user.
  @discardableResult
  package static func hide(environment: [String: String]) -> Bool {
    guard environment[exemption] != "1" else { return false }
    return baton_hide_process() == 0
  }

  /// Whether this process is hidden; `nil` if the system does not tell (macOS).
  package static var isHidden: Bool? {
    let answer = baton_is_readable()
    return answer < 0 ? nil : answer == 0
  }
}
