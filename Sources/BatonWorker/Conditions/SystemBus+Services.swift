package import BatonModel

/// What NetworkManager says of the main connection (its `NMMetered`).
package enum NetworkCost: UInt64, Hashable, Sendable {
  case unknown = 0
  case yes, no, guessYes, guessNo

  /// Nil means that it does not know.
  package var isMetered: Bool? {
    switch self {
    case .unknown: nil
    case .yes, .guessYes: true
    case .no, .guessNo: false
    }
  }
}

/// What logind says, at one moment, of what its files do not tell.
package struct LogindAnswer: Hashable, Sendable {
  /// Of one session, or of all together.
  package struct Hint: Hashable, Sendable {
    package var isIdle: Bool
    /// When `isIdle` last changed; nil where nobody has ever given the hint.
    package var since: Timestamp?
    package var isLocked: Bool

    package init(isIdle: Bool, since: Timestamp?, isLocked: Bool = false) {
      self.isIdle = isIdle
      self.since = since
      self.isLocked = isLocked
    }
  }

  /// Of all sessions together; nil where logind gives none.
  package var host: Hint?
  /// A program, such as one that plays a film, asks that the host is not taken for idle.
  package var isInhibited: Bool
  /// By the name of the session; without those that answered nothing.
  package var sessions: [String: Hint]

  package init(host: Hint?, isInhibited: Bool = false, sessions: [String: Hint] = [:]) {
    self.host = host
    self.isInhibited = isInhibited
    self.sessions = sessions
  }
}

extension SystemBus {
  /// Nil where there is no NetworkManager, or it does not answer.
  package func networkCost(at now: Instant) async -> NetworkCost? {
    let name = "org.freedesktop.NetworkManager"
    let object = BusObject(service: name, path: "/org/freedesktop/NetworkManager", interface: name)
    guard case .values(let values) = await properties(["Metered"], of: object, at: now) else { return nil }
    return values[0].number.flatMap { NetworkCost(rawValue: $0) }
  }

  /// Nil where there is no logind (or elogind), or it does not answer.
  /// - Parameter sessions: names as in `run/systemd/sessions`; at most 16 are asked for.
  package func logind(sessions: [String], at now: Instant) async -> LogindAnswer? {
    let names = ["IdleHint", "IdleSinceHint", "BlockInhibited"]
    guard case .values(let values) = await properties(names, of: Self.logind(), at: now) else { return nil }
    let inhibited = values[2].text?.split(separator: ":").contains("idle") ?? false
    var answer = LogindAnswer(host: LogindAnswer.Hint(values), isInhibited: inhibited)
    for session in sessions.prefix(16) { answer.sessions[session] = await hint(ofSession: session, at: now) }
    return answer
  }

  private func hint(ofSession session: String, at now: Instant) async -> LogindAnswer.Hint? {
    let names = ["IdleHint", "IdleSinceHint", "LockedHint"]
    let object = Self.logind(object: "/session/" + Self.label(session), interface: "Session")
    guard case .values(let values) = await properties(names, of: object, at: now) else { return nil }
    return LogindAnswer.Hint(values)
  }

  private static func logind(object: String = "", interface: String = "Manager") -> BusObject {
    BusObject(
      service: "org.freedesktop.login1", path: "/org/freedesktop/login1" + object,
      interface: "org.freedesktop.login1." + interface)
  }

  /// A name as part of an object's path: letters, and digits unless they come first, stay; every other byte becomes
  /// `_` and two hexadecimal digits (sd_bus_path_encode(3)).
  static func label(_ name: String) -> String {
    if name.isEmpty { return "_" }
    return name.utf8.enumerated().map { place, byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
        return String(UnicodeScalar(byte))
      case UInt8(ascii: "0")...UInt8(ascii: "9") where place > 0: return String(UnicodeScalar(byte))
      default: return "_" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }.joined()
  }
}

extension LogindAnswer.Hint {
  /// `IdleHint`, `IdleSinceHint` (microseconds of the wall clock, 0 for never) and, of a session, `LockedHint`.
  init?(_ values: [BusValue]) {
    guard values.count == 3, let isIdle = values[0].flag, let microseconds = values[1].number else { return nil }
    let since = microseconds == 0 ? nil : Timestamp(nanoseconds: Int64(clamping: microseconds).saturated(times: 1000))
    self.init(isIdle: isIdle, since: since, isLocked: values[2].flag ?? false)
  }
}

extension Int64 {
  fileprivate func saturated(times factor: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
