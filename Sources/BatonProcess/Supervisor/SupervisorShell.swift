import BatonBase
import BatonModel
import Subprocess
import Synchronization

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

/// Performs the effects of `SupervisorMachine` with real processes.
struct SupervisorShell: Sendable {
  let executable: String
  /// The worker's arguments, starting with the program's name.
  let arguments: [String]
  /// What the child is to be.
  let role: SupervisedProcess.Role
  let cleanUp: @Sendable () -> Void
  let onDeath: @Sendable (WorkerDeath) async -> Void
  /// Is held while a child is started, while one is reaped, and during `cleanUp`: the number of a child whose start or
  /// end goes on is not known to the code that kills leftovers.
  let turn: ChildTurn
  private let sleep: @Sendable (Duration) async throws -> Void
  private let worker = WorkerSlot()
  private let start = ContinuousClock.now

  private typealias Events = AsyncThrowingStream<SupervisorMachine.Event, any Error>

  init(
    executable: String, arguments: [String], role: SupervisedProcess.Role = .worker,
    cleanUp: @escaping @Sendable () -> Void,
    onDeath: @escaping @Sendable (WorkerDeath) async -> Void,
    turn: ChildTurn = ChildTurn(),
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.executable = executable
    self.arguments = arguments
    self.role = role
    self.cleanUp = cleanUp
    self.onDeath = onDeath
    self.turn = turn
    self.sleep = sleep
  }

  /// Runs until the machine ends. Returns the status with which the supervisor has to exit. Cancellation kills the
  /// worker.
  func run(signals: some AsyncSequence<Int32, Never> & Sendable) async throws -> Int32 {
    let (events, inbox) = Events.makeStream()
    return try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask { for await signal in signals { inbox.yield(.signalled(signal)) } }
      var machine = SupervisorMachine(startedAt: now)
      try await perform(.start, in: &group, inbox)
      for try await event in events {
        for effect in machine.take(event, at: now) {
          if case .end(let status) = effect { return status }
          try await perform(effect, in: &group, inbox)
        }
      }
      throw CancellationError()
    }
  }

  /// The process of the running child; `nil` while there is none.
  var pid: Int32? { worker.pid }

  private var now: Instant { Instant(nanoseconds: (ContinuousClock.now - start).nanoseconds) }

  private func perform(
    _ effect: SupervisorMachine.Effect, in group: inout ThrowingTaskGroup<Void, any Error>, _ inbox: Events.Continuation
  ) async throws {
    switch effect {
    case .start:
      group.addTask {
        do {
          inbox.yield(.workerEnded(try await runWorker()))
        } catch {
          inbox.finish(throwing: error)
        }
      }
    case .forward(let signal): worker.send(signal)
    case .cleanUp:
      await turn.take()
      defer { turn.give() }
      try await onOwnThread { cleanUp() }
    case .report(let end, let duration):
      let death = WorkerDeath(end: end, announcement: worker.lastLine())
      group.addTask {
        await report(death, during: duration)
        inbox.yield(.waited)
      }
    case .end: preconditionFailure("supervisor: the end is no effect to carry out")
    }
  }

  private func report(_ death: WorkerDeath, during duration: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await onDeath(death) }
      // The sleep throws only if the whole supervisor is cancelled.
      try? await sleep(duration)
      group.cancelAll()
    }
  }

  private func runWorker() async throws -> ProcessEnd {
    let socket = try ControlSocket()
    worker.prepare(socket)
    let place = ChildTable.reserve()
    defer { ChildTable.forget(place) }
    var options = PlatformOptions()
    // The worker has its own process group, so that Ctrl-C reaches it only once, through its supervisor, and not also
    // from the terminal.
    options.processGroupID = 0
    await turn.take()
    defer { turn.give() }
    let result = try await Subprocess.run(
      .path(FilePath(executable)),
      arguments: Arguments(executablePathOverride: arguments[0], remainingValues: Array(arguments.dropFirst())),
      environment: .inherit.updating([
        .init(rawValue: SupervisedProcess.variable)!: String(getpid()),
        .init(rawValue: SupervisedProcess.roleVariable)!: role.rawValue,
      ]),
      platformOptions: options,
      input: .fileDescriptor(FileDescriptor(rawValue: socket.workerEnd), closeAfterSpawningProcess: true),
      output: .currentStandardOutput, error: .currentStandardError
    ) { execution in
      let process = RunningProcess(pid: execution.processIdentifier.value)
      ChildTable.remember(process.pid, at: place)
      worker.started(pid: process.pid) { process.signal($0) }
      turn.give()
      await process.exit()
      await turn.take()
      worker.ended()
      process.finish()
    }
    return switch result.terminationStatus {
    case .exited(let code): .exited(code)
    case .signaled(let signal): .signalled(signal)
    }
  }
}

/// The running worker. Signals that arrive while it is being started are sent when it runs, except SIGHUP: a worker
/// reads its settings when it starts.
final class WorkerSlot: Sendable {
  private struct State {
    /// Sends a signal to the worker; nil while no worker runs.
    var signal: (@Sendable (Int32) -> Void)?
    var pid: Int32?
    var socket: ControlSocket?
    var unsent: [Int32] = []
  }

  private let state = Mutex(State())

  func prepare(_ socket: ControlSocket) { state.withLock { $0 = State(socket: socket, unsent: $0.unsent) } }

  /// - Parameter signal: sends a signal to the worker. It is called under a lock.
  func started(pid: Int32? = nil, _ signal: @escaping @Sendable (Int32) -> Void) {
    state.withLock { state in
      state.pid = pid
      state.signal = signal
      for unsent in state.unsent { signal(unsent) }
      state.unsent = []
    }
  }

  /// The worker has ended. Signals are kept for the next worker from now on.
  func ended() { state.withLock { ($0.signal, $0.pid) = (nil, nil) } }

  var pid: Int32? { state.withLock { $0.pid } }

  func send(_ signal: Int32) {
    state.withLock { state in
      if let send = state.signal { send(signal) } else if signal != SIGHUP { state.unsent.append(signal) }
    }
  }

  func lastLine() -> String? { state.withLock { $0.socket }?.lastLine() }
}
