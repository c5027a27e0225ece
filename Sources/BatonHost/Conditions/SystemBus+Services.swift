package import BatonModel

/// Whether NetworkManager considers the main connection metered (its `NMMetered`).
package enum NetworkCost: UInt64, Hashable, Sendable {
  case unknown = 0
  case yes, no, guessYes, guessNo

  /// Whether the connection costs money; `nil` if NetworkManager does not know.
  package var isMetered: Bool? {
    switch self {
    case .unknown: nil
    case .yes, .guessYes: true
    case .no, .guessNo: false
    }
  }
}

/// What logind says on the bus at one moment, in addition to its files.
package struct LogindAnswer: Hashable, Sendable {
  /// The idle hint of one session, or of the whole host.
  package struct Hint: Hashable, Sendable {
    package var isIdle: Bool
    /// When `isIdle` last changed, or `nil` if the hint was never given.
    package var since: Timestamp?
    package var isLocked = false
  }

  /// The hint of all sessions together, or `nil` if logind gives none.
  package var host: Hint?
  /// A program, such as a film player, asks that the host does not count as idle.
  package var isInhibited = false
  /// The hints by the names of the sessions. Sessions without an answer are missing.
  package var sessions: [String: Hint] = [:]
}

/// The result of a question to a service on the bus.
package enum BusWord<Value: Sendable>: Sendable {
  case said(Value)
  /// The host does not have this service.
  case absent
  /// The service exists and did not answer. On a host under load the answer may only have been late.
  case silent

  package var value: Value? { if case .said(let value) = self { value } else { nil } }

  /// - Parameter value: converts the answer, and returns `nil` if the answer is not understood.
  init(_ answer: SystemBus.Answer, _ value: ([BusValue]) -> Value?) {
    switch answer {
    case .missing: self = .absent
    case .failed: self = .silent
    case .values(let values): self = value(values).map { .said($0) } ?? .silent
    }
  }
}

/// Keeps the last answer of a service. An answer that fails to come changes nothing for a while; otherwise a host under
/// load would forget what its owner chose.
package struct LastWord<Value: Sendable>: Sendable {
  private var last: (value: Value, at: Instant)?

  package init() {}

  /// How long the last answer stays valid without a new one. It is longer than two rounds of questions while a program
  /// watches the bus.
  package static var patience: Duration { .seconds(150) }

  /// Takes the result of a question, and returns the value that counts now.
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
  /// Asks NetworkManager whether the main connection is metered.
  package func networkCost(at now: Instant) async -> BusWord<NetworkCost> {
    let name = "org.freedesktop.NetworkManager"
    let object = BusObject(service: name, path: "/org/freedesktop/NetworkManager", interface: name)
    return BusWord(await properties(["Metered"], of: object, at: now)) {
      $0[0].number.flatMap { NetworkCost(rawValue: $0) }
    }
  }

  /// Asks logind or elogind for its idle hints.
  /// - Parameters:
  ///   - sessions: the names of sessions as in `run/systemd/sessions`. Only the first 16 are asked for.
  ///   - before: the last answer. A session that does not answer now keeps its hint of this answer.
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

  /// Encodes a name as a part of an object path: letters stay, and digits stay unless they come first. Every other byte
  /// becomes `_` and two hexadecimal digits (sd_bus_path_encode(3)).
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
  /// Reads the values of `IdleHint`, `IdleSinceHint` (microseconds of the wall clock, 0 for never) and a third
  /// property: `LockedHint` for a session. For the whole host the third value is not a boolean, and `isLocked` is
  /// `false`.
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
