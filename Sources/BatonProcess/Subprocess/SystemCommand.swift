import BatonModel
import Subprocess
import Synchronization

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

/// Runs a program of the system for a probe, such as `upsc`, and returns its output. It is a value, so that tests can
/// replace it by answers of their own.
package struct SystemCommand: Sendable {
  package enum Answer: Hashable, Sendable {
    case output(String)
    /// This host does not have the program.
    case missing
    /// The program failed or did not end in time, with the reason in one line.
    case failed(String)
  }

  /// The search path of programs, also of commands if the worker itself has no `PATH`.
  package static let standardPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

  /// Runs `arguments`, whose first element is the program's name, for at most `patience`.
  package var run: @Sendable (_ arguments: [String], _ patience: Duration) async -> Answer

  package init(run: @escaping @Sendable (_ arguments: [String], _ patience: Duration) async -> Answer) {
    self.run = run
  }

  /// Looks for programs on the standard path, starts them without the worker's environment, and kills a program that
  /// does not end in time. At most 256 KiB of output are accepted; a program that prints more has failed.
  package static let system = system(with: [:])

  /// Like `system`, with additional environment variables, such as `DBUS_SYSTEM_BUS_ADDRESS` for a bus that is not in
  /// the standard place.
  package static func system(with variables: [String: String]) -> SystemCommand {
    SystemCommand { arguments, patience in
      guard let executable = find(arguments.first ?? "") else { return .missing }
      let configuration = configuration(executable, Array(arguments.dropFirst()), variables)
      return await answer(arguments[0], within: patience) { await start(executable, configuration) }
    }
  }

  /// Returns the program's answer, or a failure when `patience` has passed. A program that survives SIGKILL, for
  /// example because it waits for a dead driver, is abandoned: the caller does not wait for it.
  /// - Parameter lastPatience: how long a killed program may take until it has ended.
  static func answer(
    _ name: String, within patience: Duration, lastPatience: Duration = .seconds(1),
    _ start: @escaping @Sendable () async -> Answer
  ) async -> Answer {
    guard stuck.withLock({ $0[name] == nil }) else {
      return .failed("an earlier run of \(name) hangs and cannot be killed")
    }
    let (first, late) = (FirstAnswer<Answer>(), Answer.failed("\(name) did not end within \(patience.inWords)"))
    let isLate = Flag()
    let command = Task {
      let answer = await start()
      guard !first.give(isLate.isSet ? late : answer) else { return }
      stuck.withLock { $0[name] = ($0[name] ?? 0) > 1 ? $0[name]! - 1 : nil }
    }
    let watch = Task {
      try? await Task.sleep(for: patience, clock: .continuous)
      isLate.set()
      // The Subprocess library kills the process when its task is cancelled.
      command.cancel()
      await Task.detached { try? await Task.sleep(for: lastPatience, clock: .continuous) }.value
      // Under one lock, so that a run that ends now is not counted as stuck for ever.
      stuck.withLock { if first.give(late) { $0[name, default: 0] += 1 } }
    }
    return await withTaskCancellationHandler {
      defer { watch.cancel() }
      return await first.value
    } onCancel: {
      watch.cancel()
    }
  }

  /// How many processes of a program, by its name, could not be ended. Such a program is not started again.
  private static let stuck = Mutex<[String: Int]>([:])

  /// The program's path on the standard path, or `nil` if it is not there.
  static func find(_ name: String) -> String? {
    if name.contains("/") { return SystemCall.isExecutable(name) ? name : nil }
    return standardPath.split(separator: ":").map { "\($0)/\(name)" }
      .first { SystemCall.isExecutable($0) && SystemCall.isRegularFile($0) }
  }

  private static func start(_ executable: String, _ configuration: Configuration) async -> Answer {
    // The table of the worker's own children keeps the sweep for orphans from killing this process. The place is
    // reserved before the start: while the process id of a child is not known yet, the sweep kills no orphan.
    let place = ChildTable.reserve()
    defer { ChildTable.forget(place) }
    do {
      let result = try await Subprocess.run(
        configuration, input: .none, output: .string(limit: 256 << 10), error: .string(limit: 16 << 10)
      ) { execution in
        let process = RunningProcess(pid: execution.processIdentifier.value)
        ChildTable.remember(process.pid, at: place)
        await process.exit()
        // Ends the processes that the program left in its process group. No other part of Baton would end them.
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
    let standard = ["PATH": standardPath, "LC_ALL": "C"]
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
