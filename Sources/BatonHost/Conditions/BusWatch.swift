import BatonBase
import BatonProcess

/// Notices changes of properties on the system bus with the help of a program that prints a line for each change.
/// `ConditionMonitor` runs it. The output is not interpreted: the caller asks the services again to find out what
/// changed.
///
/// `dbus-monitor` and `gdbus monitor` work for every user: the usual bus policy lets only root monitor the bus, but
/// without that right both programs subscribe to the signals instead. `busctl monitor` works for root only.
package struct BusWatch: Sendable {
  package enum Event: Hashable, Sendable {
    /// Something may have changed: the caller should ask the services now. This event often comes several times in a
    /// row.
    case changed
    /// No program watches the bus: the caller should ask the services about every 5 s, until `changed` shows that a
    /// program watches again.
    case blind
  }

  /// The pause after a program that printed something has ended. While no program prints anything, each pause is twice
  /// as long as the one before, up to `longestPause`.
  package static let firstPause = Duration.seconds(1)
  package static let longestPause = Duration.seconds(300)

  private let variables: [String: String]
  private let candidates: [[String]]
  private let isThere: @Sendable () -> Bool
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameters:
  ///   - variables: additional environment variables for the programs, such as `DBUS_SYSTEM_BUS_ADDRESS`.
  ///   - candidates: commands in order of preference. The first command that prints anything is used.
  ///   - sleep: waits between two attempts.
  ///   - isThere: whether the host has a system bus. Without a bus, no program is started.
  package init(
    variables: [String: String] = [:], candidates: [[String]] = BusWatch.programs(isRoot: geteuid() == 0),
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0, clock: .continuous) },
    isThere: @escaping @Sendable () -> Bool = { true }
  ) {
    self.variables = variables
    self.candidates = candidates
    self.isThere = isThere
    self.sleep = sleep
  }

  /// Watches until the task is cancelled. Before this method returns, the program has been ended and reaped.
  package func run(_ notice: @escaping @Sendable (Event) -> Void) async {
    let monitors = candidates.compactMap { BusMonitor($0, variables) }
    var pause = Self.firstPause
    while !Task.isCancelled {
      var hasPrinted = false
      for monitor in monitors where !Task.isCancelled && !hasPrinted && isThere() {
        hasPrinted = await monitor.run { notice(.changed) }
      }
      if Task.isCancelled { return }
      notice(.blind)
      // A program that printed nothing is unlikely to work a second later.
      pause = hasPrinted ? Self.firstPause : min(pause * 2, Self.longestPause)
      guard (try? await sleep(pause)) != nil else { return }
    }
  }
}

extension BusWatch {
  /// The commands that can watch the bus, in order of preference. They watch only the main object of NetworkManager,
  /// because the objects below it report every change of signal strength.
  package static func programs(isRoot: Bool) -> [[String]] {
    let rules = [
      "path_namespace='/org/freedesktop/login1'", "path='/org/freedesktop/NetworkManager'",
      "path='/net/hadess/PowerProfiles'", "path='/org/freedesktop/UPower/PowerProfiles'",
    ].map { "type='signal',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',\($0)" }
    let busctl = ["busctl", "--system", "--json=short", "monitor"] + rules.map { "--match=" + $0 }
    return [["dbus-monitor", "--system", "--profile"] + rules] + (isRoot ? [busctl] : []) + [gdbus]
  }

  /// `gdbus` can watch only one service. This command watches logind, the service that is asked most often.
  private static let gdbus = ["gdbus", "monitor", "--system", "--dest", "org.freedesktop.login1"]
}
