/// The folders of a user by the XDG Base Directory Specification.
package enum UserFolders {
  /// The folder for Baton's state: `$XDG_STATE_HOME/baton`, or `$HOME/.local/state/baton`. `nil` if neither variable is
  /// an absolute path; the specification demands that a relative one is ignored.
  /// - Parameter variable: returns the value of an environment variable.
  package static func state(_ variable: (String) -> String?) -> String? {
    if let state = variable("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/baton" }
    guard let home = variable("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.local/state/baton"
  }

  /// The folder for a user's configuration: `$XDG_CONFIG_HOME/baton`, or `$HOME/.config/baton`. `nil` if neither
  /// variable is an absolute path.
  package static func configuration(_ variable: (String) -> String?) -> String? {
    if let folder = variable("XDG_CONFIG_HOME"), folder.hasPrefix("/") { return folder + "/baton" }
    guard let home = variable("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.config/baton"
  }

  /// What to tell a person if there is no such folder.
  package static let noState =
    "neither XDG_STATE_HOME nor HOME says where state is kept: set one of them, or give --data DIR"
}
