import Subprocess
import Synchronization

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

/// Runs a command of the system for a probe, such as `upsc`, and takes what it prints. A value, so that tests bring
/// answers of their own.
package struct SystemCommand: Sendable {
  package enum Answer: Hashable, Sendable {
    case output(String)
    /// There is no such program on this host.
    case missing
    /// It failed, or did not end in time: why, in a line.
    case failed(String)
  }

  /// Arguments, the program's name first, and how long it may take.
  package var run: @Sendable (_ arguments: [String], _ patience: Duration) async -> Answer

  package init(run: @escaping @Sendable (_ arguments: [String], _ patience: Duration) async -> Answer) {
    self.run = run
  }

  /// Looks for programs on a standard path, starts them without the worker's environment, and kills what does not end
  /// in time. At most 256 KiB of output are taken: a program that prints more has failed.
  package static let system = system(with: [:])

  /// The same with variables in the environment that the worker's own would not give, such as
  /// `DBUS_SYSTEM_BUS_ADDRESS` for a bus that is not in its usual place.
  package static func system(with variables: [String: String]) -> SystemCommand {
    SystemCommand { arguments, patience in
      guard let executable = find(arguments.first ?? "") else { return .missing }
      let configuration = configuration(executable, Array(arguments.dropFirst()), variables)
      return await answer(arguments[0], within: patience) { await start(executable, configuration) }
    }
  }

  /// A program that outlives SIGKILL, such as one that waits for a dead driver, is left to itself: nobody waits for it.
  private static func answer(
    _ name: String, within patience: Duration, _ start: @escaping @Sendable () async -> Answer
  ) async -> Answer {
    guard !stuck.withLock({ $0.contains(name) }) else { return .failed("an earlier \(name) cannot be ended") }
    let (first, late) = (FirstAnswer<Answer>(), Answer.failed("\(name) did not end within \(patience)"))
    let isLate = Flag()
    let command = Task {
      let answer = await start()
      first.give(isLate.isSet ? late : answer)
      stuck.withLock { _ = $0.remove(name) }
    }
    let watch = Task {
      try? await Task.sleep(for: patience, clock: .continuous)
      isLate.set()
      // The library kills the process when its task is cancelled.
      command.cancel()
      await Task.detached { try? await Task.sleep(for: lastPatience, clock: .continuous) }.value
      stuck.withLock { _ = $0.insert(name) }
      if !first.give(late) { stuck.withLock { _ = $0.remove(name) } }
    }
    return await withTaskCancellationHandler {
      defer { watch.cancel() }
      return await first.value
    } onCancel: {
      watch.cancel()
    }
  }

  /// How long a killed program may take to be gone.
  private static let lastPatience = Duration.seconds(1)

  /// Programs of which one cannot be ended: no second one is started.
  private static let stuck = Mutex<Set<String>>([])

  /// Where the program is on the standard path, nil if it is not there.
  static func find(_ name: String) -> String? {
    if name.contains("/") { return SystemCall.isExecutable(name) ? name : nil }
    return CommandEnvironment.standardPath.split(separator: ":").map { "\($0)/\(name)" }
      .first { SystemCall.isExecutable($0) && SystemCall.isRegularFile($0) }
  }

  private static func start(_ executable: String, _ configuration: Configuration) async -> Answer {
    // Known as a child of the worker's own while it runs: it is no orphan that a command left. Its number is, too: while
    // one is unknown, no orphan is taken for one.
    let place = ChildTable.reserve()
    defer { ChildTable.forget(place) }
    do {
      let result = try await Subprocess.run(
        configuration, input: .none, output: .string(limit: 256 << 10), error: .string(limit: 16 << 10)
      ) { execution in
        let process = RunningProcess(pid: execution.processIdentifier.value)
        ChildTable.remember(process.pid, at: place)
        await process.exit()
        // What it left in its group would be nobody's.
        process.finish()
      }
      if result.terminationStatus.isSuccess { return .output(result.standardOutput) }
      let said = result.standardError.split(separator: "\n").last.map { ": \($0)" } ?? ""
      return .failed("\(executable) ended with \(result.terminationStatus)\(said)")
    } catch {
      return .failed("\(executable): \(error)")
    }
  }

  static func configuration(
    _ executable: String, _ arguments: [String], _ variables: [String: String]
  ) -> Configuration {
    let standard = ["PATH": CommandEnvironment.standardPath, "LC_ALL": "C"]
    let environment = standard.merging(variables) { _, given in given }
    var options = PlatformOptions()
    options.processGroupID = 0
    return Configuration(
      executable: .path(FilePath(executable)), arguments: Arguments(arguments),
      environment: .custom(Dictionary(uniqueKeysWithValues: environment.map { (.init(rawValue: $0)!, $1) })),
      platformOptions: options)
  }
}

/// True once it is set.
private final class Flag: Sendable {
  private let state = Mutex(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}
