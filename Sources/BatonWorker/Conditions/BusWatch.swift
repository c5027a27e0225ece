#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Notices that properties change on the system bus, by a program that prints a line when they do. What it prints is
/// not interpreted: whoever asks the services afterwards knows what changed.
///
/// `dbus-monitor` and `gdbus monitor` work for every user: where they may not monitor the bus (only root may, says its
/// usual policy), they subscribe to the signals. `busctl monitor` works for root only.
package struct BusWatch: Sendable {
  package enum Event: Hashable, Sendable {
    /// Something may have changed: ask now. Often several in a row.
    case changed
    /// Nothing is watching: ask every 5 s or so, until `changed` says that something watches again.
    case blind
  }

  /// The first pause after a program ended by itself; each is twice as long as the one before.
  package static let firstPause = Duration.seconds(1)
  package static let longestPause = Duration.seconds(300)

  private let variables: [String: String]
  private let candidates: [[String]]
  private let isThere: @Sendable () -> Bool
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameters:
  ///   - variables: for the programs' environment, such as `DBUS_SYSTEM_BUS_ADDRESS`.
  ///   - candidates: commands of which the first that works is used.
  ///   - isThere: whether there is a bus; where there is none nothing is started.
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

  /// Watches until the task is cancelled; then the program is ended and reaped before this returns.
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
      // One that printed nothing will hardly do better in a second.
      pause = hasPrinted ? Self.firstPause : min(pause * 2, Self.longestPause)
      guard (try? await sleep(pause)) != nil else { return }
    }
  }
}

extension BusWatch {
  /// In the order of preference. NetworkManager's own object only: those below it report the strength of every signal.
  package static func programs(isRoot: Bool) -> [[String]] {
    let rules = [
      "path_namespace='/org/freedesktop/login1'", "path='/org/freedesktop/NetworkManager'",
      "path='/net/hadess/PowerProfiles'", "path='/org/freedesktop/UPower/PowerProfiles'",
    ].map { "type='signal',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',\($0)" }
    let busctl = ["busctl", "--system", "--json=short", "monitor"] + rules.map { "--match=" + $0 }
    return [["dbus-monitor", "--system", "--profile"] + rules] + (isRoot ? [busctl] : []) + [gdbus]
  }

  /// It watches one service: the one that is asked most often.
  private static let gdbus = ["gdbus", "monitor", "--system", "--dest", "org.freedesktop.login1"]
}
