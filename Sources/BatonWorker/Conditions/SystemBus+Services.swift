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

/// What came of a question to a service.
package enum BusWord<Value: Sendable>: Sendable {
  case said(Value)
  /// There is no such service.
  case absent
  /// It is there and did not answer: on a host under load it may just have been late.
  case silent

  package var value: Value? { if case .said(let value) = self { value } else { nil } }

  /// - Parameter value: nil if what was said is not understood.
  init(_ answer: SystemBus.Answer, _ value: ([BusValue]) -> Value?) {
    switch answer {
    case .missing: self = .absent
    case .failed: self = .silent
    case .values(let values): self = value(values).map { .said($0) } ?? .silent
    }
  }
}

/// What a service said last. Silence changes nothing for a while, or a host under load would forget what its owner chose.
package struct LastWord<Value: Sendable>: Sendable {
  private var last: (value: Value, at: Instant)?

  package init() {}

  /// Longer than two rounds of questions while something watches the bus.
  package static var patience: Duration { .seconds(150) }

  /// What counts now that this came of asking.
  package mutating func take(_ word: BusWord<Value>, at now: Instant) -> Value? {
    switch word {
    case .said(let value): last = (value, now)
    case .absent: last = nil
    case .silent: if let last, now - last.at >= Self.patience { self.last = nil }
    }
    return last?.value
  }
}

extension SystemBus {
  package func networkCost(at now: Instant) async -> BusWord<NetworkCost> {
    let name = "org.freedesktop.NetworkManager"
    let object = BusObject(service: name, path: "/org/freedesktop/NetworkManager", interface: name)
    return BusWord(await properties(["Metered"], of: object, at: now)) {
      $0[0].number.flatMap { NetworkCost(rawValue: $0) }
    }
  }

  /// Of logind, or elogind.
  /// - Parameters:
  ///   - sessions: names as in `run/systemd/sessions`; at most 16 are asked for.
  ///   - before: what was said last: a session that is silent now keeps what it said.
  package func logind(
    sessions: [String], before: LogindAnswer? = nil, at now: Instant
  ) async -> BusWord<LogindAnswer> {
    let names = ["IdleHint", "IdleSinceHint", "BlockInhibited"]
    let word = BusWord(await properties(names, of: Self.logind(), at: now)) { values in
      let inhibited = values[2].text?.split(separator: ":").contains("idle") ?? false
      return LogindAnswer(host: LogindAnswer.Hint(values), isInhibited: inhibited)
    }
    guard case .said(var answer) = word else { return word }
    for session in sessions.prefix(16) {
      switch await hint(ofSession: session, at: now) {
      case .said(let hint): answer.sessions[session] = hint
      case .silent: answer.sessions[session] = before?.sessions[session]
      case .absent: break
      }
    }
    return .said(answer)
  }

  private func hint(ofSession session: String, at now: Instant) async -> BusWord<LogindAnswer.Hint> {
    let names = ["IdleHint", "IdleSinceHint", "LockedHint"]
    let object = Self.logind(object: "/session/" + Self.label(session), interface: "Session")
    return BusWord(await properties(names, of: object, at: now)) { LogindAnswer.Hint($0) }
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
