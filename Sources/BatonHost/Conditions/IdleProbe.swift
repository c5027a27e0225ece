package import BatonModel
package import BatonProcess

/// Tells whether a host is in use: by a person at its screen or on a terminal, or by programs other than Baton's on its
/// processors and disks.
///
/// One source that says busy is enough for busy. The host is idle only if every source that can notice a person says
/// idle. A reading is cheap enough for one per second. Read it at least every few seconds, because counters only tell
/// that something was touched since the last reading.
package struct IdleProbe: Sendable {
  private let settings: IdleSettings
  private var logind: LogindSessions
  private var input: InputDevices
  private var terminals: Terminals
  private var load: OtherLoad

  /// - Parameter ownTime: the processor time of Baton and of all processes that it started, including those that have
  ///   ended; `nil` if it is not known. The load of other programs is then unknown too.
  package init(
    root: SystemRoot, settings: IdleSettings = IdleSettings(), ownTime: @escaping @Sendable () -> Duration?
  ) {
    self.settings = settings
    logind = LogindSessions(root: root)
    input = InputDevices(root: root, opens: settings.readsInputDevices)
    terminals = Terminals(root: root)
    load = OtherLoad(root: root, settings: settings, ownTime: ownTime)
  }

  /// The names of the desktop sessions at the last reading. `SystemBus.logind` may be asked for their hints.
  package var desktops: [String] { logind.sessionsToAsk }

  /// Reads all sources once.
  /// - Parameters:
  ///   - date: the wall clock. Times of terminals and of logind are compared with it when they are first seen. A step
  ///     of the wall clock does not make a host idle.
  ///   - answer: the last answer of logind, or `nil` if logind was not asked.
  ///   - isWorking: whether a process that Baton started runs now.
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

/// When a host counts as idle: the keys below `idle` in worker.yaml. Each default is Baton's own choice.
public struct IdleSettings: Hashable, Sendable {
  /// The sources that can tell whether a host is in use. `baton explain` shows these names.
  public enum Source: String, Hashable, Sendable, CaseIterable {
    /// The sessions of systemd-logind.
    case logind
    /// Keyboards, mice and other input devices.
    case input
    /// Terminals in which a person types.
    case terminal
    /// The processors' load by other programs.
    case load
    /// The kernel's pressure stall information.
    case pressure
  }

  /// How long there must be no sign of a person; by default 180 s. Key `idle.after`.
  public var after = Duration.seconds(180)
  /// The share of all the host's processors together that programs other than Baton's may use, in per cent, 1 to 100;
  /// by default 25. The host is busy above it. Key `idle.otherLoad`.
  public var otherLoad = 25
  /// The time over which the load is averaged, so that a burst of two seconds does not count: at least 1 s, by default
  /// 10 s. Key `idle.loadWindow`.
  public var loadWindow = Duration.seconds(10)
  /// How long load and pressure must stay low before the host can count as idle again; by default 60 s. Key
  /// `idle.loadCalm`.
  public var loadCalm = Duration.seconds(60)
  /// The share of the last 10 s during which some process may wait for memory, for input and output, or for a
  /// processor, in per cent, 1 to 100; for memory by default 10 (`some avg10`; Linux,
  /// Documentation/accounting/psi.rst). The host is busy above it. Keys `idle.memoryPressure`, `idle.ioPressure`,
  /// `idle.cpuPressure`.
  public var memoryPressure = 10
  /// The same for input and output; by default 30.
  public var ioPressure = 30
  /// The same for processors; by default 50.
  public var cpuPressure = 50
  /// `false`: files in `/dev/input` are not opened, even if the worker's user may read them. Key
  /// `idle.readInputDevices`.
  public var readsInputDevices = true
  /// Sources that are not asked, such as `logind` on a host whose desktop never says that it is idle. Key
  /// `idle.ignore`.
  public var ignored: Set<Source> = []

  /// Creates the default settings.
  public init() {}
}
