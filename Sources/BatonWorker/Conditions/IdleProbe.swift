package import BatonModel

/// Whether somebody uses this host: a person at its screen or on a terminal, or other work on its processors and disks.
///
/// Busy is what any source says; idle is what every source says that can know of a person. It is cheap enough for every
/// second. Read it at least every few seconds: counters say only that something was touched since the last reading.
package struct IdleProbe: Sendable {
  private let settings: IdleSettings
  private var logind: LogindSessions
  private var input: InputDevices
  private var terminals: Terminals
  private var load: OtherLoad

  /// - Parameter ownTime: processor time of Baton and all that it started, ended processes included; nil where nobody
  ///   knows, and then nobody knows the load of others, either.
  package init(
    root: SystemRoot, settings: IdleSettings = IdleSettings(), ownTime: @escaping @Sendable () -> Duration?
  ) {
    self.settings = settings
    logind = LogindSessions(root: root)
    input = InputDevices(root: root, opens: settings.readsInputDevices)
    terminals = Terminals(root: root)
    load = OtherLoad(root: root, settings: settings, ownTime: ownTime)
  }

  /// Desktops that the last reading found, whose hints `SystemBus.logind` may be asked for.
  package var desktops: [String] { logind.desktops }

  /// - Parameters:
  ///   - date: the wall clock, with which terminals and logind compare at first sight. A step of it makes nobody idle.
  ///   - answer: what logind said last, if it was asked.
  ///   - isWorking: something that Baton started runs now.
  package mutating func read(
    at now: Instant, date: Timestamp, logind answer: LogindAnswer? = nil, isWorking: Bool = false
  ) -> IdleVerdict {
    var decision = IdleDecision(
      logind: LogindSessions.State(isKnown: false), input: InputDevices.State(hasDevices: false),
      terminals: Terminals.Use(count: 0), load: load.read(at: now, isWorking: isWorking))
    if asks(.logind) { decision.logind = logind.read(at: now, date: date, answer: answer) }
    if asks(.input) { decision.input = input.read(at: now) }
    if asks(.terminal) { decision.terminals = terminals.read(at: now, date: date) }
    return decision.verdict(at: now, after: settings.after)
  }

  private func asks(_ source: IdleSettings.Source) -> Bool { !settings.ignored.contains(source) }
}
