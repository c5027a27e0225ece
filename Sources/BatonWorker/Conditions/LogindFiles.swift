/// A session as logind (or elogind) writes it to `run/systemd/sessions`. The file calls itself private data; systemd's
/// own library (sd_session_is_active(3) and others) reads the same keys from it, so that they are stable.
struct LoginSession: Hashable, Sendable {
  var name: String
  var user: String
  /// In the foreground of its seat; always true for one that has no seat.
  var isActive: Bool
  /// At a screen of this host, or one that is drawn elsewhere.
  var isGraphical: Bool
  /// `seat0`; empty for a session from elsewhere.
  var seat: String

  /// Nil for what is no person's: a greeter, a lock screen, cron, the service manager of a user, what is closing.
  init?(_ name: String, _ text: String) {
    let values = Self.values(text)
    // `user`, and its kinds since systemd 256: `user-early`, `user-light`, `user-incomplete`.
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

  /// Those of people, by name; nil where there is no logind.
  static func all(root: SystemRoot) -> [LoginSession]? {
    // A seat's file is there from the start; the folder of sessions may appear with the first.
    let names = root.names(in: "run/systemd/sessions").filter { !$0.hasSuffix(".ref") && !$0.hasPrefix(".") }
    if names.isEmpty, root.names(in: "run/systemd/seats").isEmpty { return nil }
    return names.compactMap { name in root.string("run/systemd/sessions/\(name)").flatMap { LoginSession(name, $0) } }
  }
}
