import BatonProcess

/// A login session as logind (or elogind) writes it to `run/systemd/sessions`. The files call themselves private data,
/// but systemd's own library reads the same keys from them (sd_session_is_active(3) and others), so these keys are
/// stable.
struct LoginSession: Hashable, Sendable {
  var name: String
  var user: String
  /// The session is in the foreground of its seat. Always true for a session without a seat.
  var isActive: Bool
  /// The session has a desktop, on a screen of this host or on a remote one.
  var isGraphical: Bool
  /// The seat, such as `seat0`; empty for a remote session.
  var seat: String

  /// Returns `nil` for a session that does not belong to a person: a greeter, a lock screen, cron, or a user's service
  /// manager. Also `nil` for a session that is closing.
  init?(_ name: String, _ text: String) {
    let values = Self.values(text)
    // The class of a person's session is `user`, or since systemd 256 also `user-early`, `user-light` or
    // `user-incomplete`.
    let isPersons = values["CLASS"].map { $0 == "user" || $0.hasPrefix("user-") } ?? false
    guard isPersons, values["STATE"] != "closing" else { return nil }
    self.name = name
    user = values["USER"].map(String.init) ?? values["UID"].map(String.init) ?? ""
    isActive = values["ACTIVE"] == "1"
    isGraphical = ["x11", "wayland", "mir", "web"].contains(values["TYPE"] ?? "")
    seat = values["SEAT"].map(String.init) ?? ""
  }

  private static func values(_ text: String) -> [Substring: Substring] {
    var values: [Substring: Substring] = [:]
    for line in text.split(separator: "\n") where line.first != "#" {
      guard let end = line.firstIndex(of: "=") else { continue }
      values[line[..<end]] = line[line.index(after: end)...]
    }
    return values
  }

  /// The sessions of people, in the order of their names. `nil` if this system has no logind.
  static func all(root: SystemRoot) -> [LoginSession]? {
    // The files of seats exist from the start of logind, but the folder of sessions may appear only with the first
    // session.
    let names = root.names(in: "run/systemd/sessions").filter { !$0.hasSuffix(".ref") && !$0.hasPrefix(".") }
    if names.isEmpty, root.names(in: "run/systemd/seats").isEmpty { return nil }
    return names.compactMap { name in root.string("run/systemd/sessions/\(name)").flatMap { LoginSession(name, $0) } }
  }
}
