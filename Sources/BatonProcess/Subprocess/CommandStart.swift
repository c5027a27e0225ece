/// How one command is started.
struct CommandStart: Sendable {
  private let launch: ProcessLaunch
  private let descriptors: [PassedDescriptor]
  private let report: PassedDescriptor
  private let group: ControlGroup?

  /// - Parameters:
  ///   - descriptors: everything that the command gets.
  ///   - group: the launch's control group; `nil` if it has none.
  init(_ launch: ProcessLaunch, descriptors: [PassedDescriptor], report: OpenFile, group: ControlGroup?) {
    self.launch = launch
    self.descriptors = descriptors
    self.report = PassedDescriptor(report, as: (descriptors.map(\.number).max() ?? 2) + 1)
    // The launch's own group is inside the group of the limit.
    self.group = group ?? launch.limit?.group
  }

  /// Starts the command.
  /// - Parameter starter: `nil` if there is no `baton-exec`.
  /// - Returns: the process, and whether the limit and the control group hold it.
  func perform(with starter: Starter?) throws(SystemError) -> (pid: Int32, isHeld: Bool) {
    guard !hasNUL else {
      throw SystemError(.failed, "an argument or a variable has a NUL character, which no program can be given")
    }
    guard let starter else { return try (performAlone(), launch.limit == nil && group == nil) }
    do throws(SystemError) {
      return (try starter.start(order), true)
    } catch  where error.code == .noStarter && launch.fence == nil {
      return try (performAlone(), launch.limit == nil && group == nil)
    } catch  where error.code == .noStarter {
      throw SystemError(.notFenced, error.message, cause: error.cause)
    }
  }

  /// Applies the limit and the control group to a process that runs already.
  func hold(_ leader: Int32) -> @Sendable () -> Void {
    { [launch, group] in ControlGroup.hold(leader, in: group, niceness: launch.limit?.effectiveNiceness) }
  }

  private var hasNUL: Bool {
    let texts = [launch.executable, launch.directory] + launch.arguments
    return texts.contains { $0.utf8.contains(0) }
      || launch.environment.contains { $0.utf8.contains(0) || $1.utf8.contains(0) }
  }

  private var order: StartOrder {
    StartOrder(
      directory: launch.directory, words: words, environment: launch.environment, descriptors: descriptors + [report],
      report: report.number, niceness: launch.limit?.effectiveNiceness, group: group.flatMap { $0.opened() })
  }

  /// The words of `baton-exec`.
  private var words: [String] {
    ["--report", "\(report.number)"] + (launch.fence?.options ?? []) + ["--", launch.executable] + launch.arguments
  }

  /// Starts the command without a starter. A fence is then applied by a `baton-exec` of its own.
  private func performAlone() throws(SystemError) -> Int32 {
    let pid = try ChildTable.start { () throws(SystemError) -> Int32? in
      guard let fence = launch.fence else {
        return try SystemCall.spawn(
          launch.executable, launch.arguments, launch.environment, in: launch.directory, descriptors,
          niceness: launch.limit?.effectiveNiceness)
      }
      do throws(SystemError) {
        return try SystemCall.spawn(
          fence.helper, [Fence.helperName] + words, launch.environment, in: launch.directory, descriptors + [report],
          niceness: launch.limit?.effectiveNiceness)
      } catch  where error.code != .directoryNotEntered && error.code != .argumentsTooLong {
        throw SystemError(.notFenced, "cannot start \(fence.helper): \(error)", cause: error.cause)
      }
    }
    guard let pid else { preconditionFailure("a start without an error has made no process") }
    return pid
  }
}
