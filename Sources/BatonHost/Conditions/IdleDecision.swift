package import BatonModel

/// Decides whether a host is in use, from the states of all sources at one moment.
struct IdleDecision: Sendable {
  var logind: LogindSessions.State
  var input: InputDevices.State
  var terminals: Terminals.Use
  var load: OtherLoad.State

  /// A source that reports no use of the host: since when, and what it watches.
  private struct Witness {
    var source: IdleSettings.Source
    var since: Instant?
    var what: String
  }

  /// Any sign of use means busy. Without such a sign the host is idle if every source that could notice a person was
  /// able to, and unknown otherwise.
  /// - Parameter after: how long there must be no sign of a person before the host counts as idle.
  func verdict(at now: Instant, after: Duration) -> IdleVerdict {
    if let busy = somebody(at: now, after: after) { return .known(busy) }
    let gap = gap(at: now, after: after)
    switch load {
    case .high(let source, let why): return .known(Self.busy(source, why))
    case .unknown(let why): return .unknown(raw: gap ?? why, looksUnused: false)
    case .low(let load):
      if let gap { return .unknown(raw: gap, looksUnused: false) }
      // The witness that noticed a person last explains the reading.
      let witnesses = witnesses(at: now, after: after)
      guard let last = witnesses.max(by: { ($0.since?.nanoseconds ?? .min) < ($1.since?.nanoseconds ?? .min) }) else {
        return .unknown(raw: "no seat, no terminal, \(load)", looksUnused: true)
      }
      let age = last.since.map { " for \((now - $0).roughly)" } ?? ""
      return .known(Reading(true, source: last.source.rawValue, raw: "\(last.what)\(age), \(load)"))
    }
  }

  private static func busy(_ source: IdleSettings.Source, _ why: String) -> Reading<Bool> {
    Reading(false, source: source.rawValue, raw: why)
  }

  /// A sign of a person: a recent use of a device, terminal or session, a desktop that says it is not idle, or a
  /// program that asks not to be idle. `nil` if there is none.
  private func somebody(at now: Instant, after: Duration) -> Reading<Bool>? {
    func recent(_ source: IdleSettings.Source, _ seen: Sighting?) -> Reading<Bool>? {
      guard let seen, now - seen.at < after else { return nil }
      return Self.busy(source, "\(seen.what) \((now - seen.at).roughly) ago")
    }
    return recent(.input, input.lastTouch) ?? recent(.terminal, terminals.last) ?? recent(
      .logind, logind.lastSeatChange)
      ?? logind.desktops.lazy.compactMap { busyDesktop($0, at: now, after: after) }.first
      ?? (logind.idleIsInhibited ? Self.busy(.logind, "a program asks that the host does not count as idle") : nil)
  }

  private func busyDesktop(_ desktop: LogindSessions.Desktop, at now: Instant, after: Duration) -> Reading<Bool>? {
    switch desktop.use {
    case .busy: return Self.busy(.logind, "\(desktop.what) is not idle")
    case .silent: return nil
    case .quiet(let since):
      // The input devices of this seat may show that no person has used the host for longer than the desktop's hint
      // says.
      if now - since >= after || (desktop.hasSeat && inputIsQuiet(at: now, after: after)) { return nil }
      return Self.busy(.logind, "\(desktop.what) idle for \((now - since).roughly) only")
    }
  }

  private func inputIsQuiet(at now: Instant, after: Duration) -> Bool {
    guard input.hasDevices, let since = input.quietSince else { return false }
    return now - since >= after
  }

  /// Explains why the sources cannot tell whether a person uses the host. `nil` if the sources would notice every
  /// possible person.
  private func gap(at now: Instant, after: Duration) -> String? {
    let silent = logind.desktops.filter { $0.use == .silent }
    if let remote = silent.first(where: { !$0.hasSeat }) { return "\(remote.what) does not say whether it is idle" }
    let needsInput = !silent.isEmpty || (!logind.isKnown && logind.desktops.isEmpty && input.hasDevices)
    if !needsInput || inputIsQuiet(at: now, after: after) { return nil }
    if !input.hasDevices { return "\(silent[0].what) does not say whether it is idle" }
    guard let since = input.quietSince else { return "input devices cannot be read" }
    return "input devices watched for \((now - since).roughly) only"
  }

  /// The sources that could notice a person and did not.
  private func witnesses(at now: Instant, after: Duration) -> [Witness] {
    var witnesses = logind.desktops.compactMap { desktop -> Witness? in
      guard case .quiet(let since) = desktop.use else { return nil }
      return Witness(source: .logind, since: since, what: "\(desktop.what) idle")
    }
    if inputIsQuiet(at: now, after: after) {
      witnesses.append(Witness(source: .input, since: input.quietSince, what: "no input"))
    }
    if terminals.count > 0 {
      let last = terminals.last
      witnesses.append(Witness(source: .terminal, since: last?.at, what: "no terminal used"))
    }
    if logind.isKnown && logind.desktops.isEmpty {
      witnesses.append(Witness(source: .logind, since: logind.lastSeatChange?.at, what: "no desktop in use"))
    }
    return witnesses
  }
}

/// Whether a host is idle, as `IdleProbe` reads it.
package enum IdleVerdict: Hashable, Sendable {
  /// `true` for idle. The reading's source is the source that decided: `input`, `terminal`, `logind`, `load` or
  /// `pressure`.
  case known(Reading<Bool>)
  /// The sources cannot tell. `looksUnused` is true if there is no source that could notice a person, as in a
  /// container, and load and pressure are known and low (contract, row 21).
  case unknown(raw: String, looksUnused: Bool)
}

/// When a person was last noticed, and by what sign.
struct Sighting: Hashable, Sendable {
  var at: Instant
  /// The sign, in words for people, such as `pts/3 used`.
  var what: String
}

extension Duration {
  /// This duration in whole seconds, minutes or hours, for people: `12 s`, `5 min`, `3 h`.
  var roughly: String {
    let seconds = max(0, components.seconds)
    if seconds < 120 { return "\(seconds) s" }
    return seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
  }
}
