import BatonModel
import BatonTelemetry
import BatonWire
import Dispatch
import Logging
import ServiceLifecycle
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The worker's loops.
extension Worker {
  /// Runs until a graceful shutdown has ended every launch, or the coordinator does not want this worker.
  /// - Throws: `WorkerError` that says why it cannot start or go on.
  public func run() async throws {
    let handlers = registry.withLock { registry in
      registry.isRunning = true
      return registry.handlers.map(\.pattern).sorted()
    }
    state.withLock { $0.core.announce(handlers) }
    guard HostName(configuration.name).isWellFormed else {
      throw WorkerError(
        "'\(configuration.name.escapedOnOneLine)' cannot be a worker's name: it has \(HostName.rule)")
    }
    let folders = try WorkerFolders(data: configuration.dataFolder)
    let lock = try FolderLock(folder: folders.data)
    defer { extendLifetime(lock) }
    let secret = try ownSecret(folders)
    state.withLock { $0.core.prove(with: secret) }
    let processes = ProcessRegistry(
      folders: folders, adoptsOrphans: configuration.ownsProcess, groups: launchGroups(folders))
    state.withLock { $0.processes = processes }
    let killed = processes.killLeftovers()
    if killed > 0 { logger.warning("killed what an earlier worker left", metadata: ["processes": "\(killed)"]) }
    folders.removeLeftovers()
    let host = makeHost(folders, processes)
    let limit = try await cpuLimit()
    state.withLock { ($0.host, $0.limit) = (host, limit) }
    if let host { await lookAtHost(host) }
    let connector = try self.connector ?? GRPCConnector(configuration)
    let why = try await withThrowingTaskGroup(of: String?.self) { group in
      group.addTask { try await self.connectionLoop(connector) }
      group.addTask { try await self.tickLoop() }
      group.addTask {
        await withTaskCancellationHandler {
          await self.startLoop(processes, folders)
        } onCancel: {
          // A handler that waits for a commit would wait for ever.
          for launch in self.state.withLock({ Array($0.active.values) }) { launch.close() }
        }
        return nil
      }
      if let host {
        group.addTask {
          await self.serveHost(host, processes)
          return nil
        }
      }
      group.addTask { await self.waitForEnd() }
      defer { group.cancelAll() }
      while let ended = try await group.next() {
        guard let ended else { continue }
        await part()
        return ended
      }
      return ""
    }
    if !why.isEmpty { throw WorkerError(why) }
  }

  /// What proves that the next process of this worker is the same worker. In the data folder, so that a host that is
  /// started again has it, and another one of that name has not.
  private func ownSecret(_ folders: WorkerFolders) throws -> [UInt8] {
    do {
      let (secret, isNew) = try SecretFile.own(folders.secret)
      if isNew {
        logger.info("this worker has a secret now, which its name belongs to", metadata: ["file": "\(folders.secret)"])
      }
      return secret
    } catch {
      throw WorkerError(
        "the secret that this worker's name belongs to: \(error). If it is lost, remove the file, and run 'baton hosts "
          + "--forget \(configuration.name)'")
    }
  }

  /// Nil where this worker can have none: then only a sweep finds what leaves its launch.
  private func launchGroups(_ folders: WorkerFolders) -> LaunchGroups? {
    do throws(ControlGroupError) {
      let groups = try LaunchGroups.found(for: folders.data)
      logger.info("each launch has a control group of its own", metadata: ["below": "\(groups.base)"])
      return groups
    } catch {
      logger.info("launches have no control groups: \(error)")
      return nil
    }
  }

  /// Made once, before the first command is started.
  private func cpuLimit() async throws -> CPULimit? {
    guard let quota = configuration.cpuLimit else { return nil }
    let supervisor = SupervisedProcess.isSupervised ? getppid() : nil
    let limit = try await onOwnThread { CPULimit.prepare(quota, supervisor: supervisor) }
    logger.notice("\(limit.notice)")
    return limit
  }

  /// Waits for a shutdown to be complete, or for the coordinator's final word.
  private func waitForEnd() async -> String? {
    await withGracefulShutdownHandler {
      await ends.receive()?.first ?? ""
    } onGracefulShutdown: {
      self.drain()
    }
  }

  /// Takes nothing new, expires every launch with `draining`, and ends when the coordinator has all endings.
  package func drain() {
    decide { $0.drain(at: clocks.instant()) }
    if state.withLock({ $0.core.isQuiet }) { ends.send("") }
  }

  /// Ends the connection after what was said before has gone out: a coordinator that hears that this worker leaves takes
  /// the lease back at once. It is waited for for `partingPatience` at most.
  private func part() async {
    let connection = state.withLock { state in
      state.isEnding = true
      return state.connection
    }
    guard let connection else { return }
    connection.up.close()
    try? await parted.wait { [clocks] in try await clocks.sleep(Self.partingPatience) }
  }

  private static let partingPatience = Duration.seconds(1)

  // MARK: Connecting

  private func connectionLoop(_ connector: any Connector) async throws -> String? {
    var (pause, generator) = (Reconnection(), SystemRandomNumberGenerator())
    while !Task.isCancelled {
      let before = clocks.instant()
      do {
        try await connector.withConnection { try await self.serve($0) }
      } catch let error as ConnectionError {
        if error.isFinal { return error.message }
        note(error.message)
      }
      if Task.isCancelled { return nil }
      let (longest, refusals) = state.withLock { ($0.core.longestPause, $0.refusals) }
      try await clocks.sleep(
        pause.next(afterConnectionOf: clocks.instant() - before, refusals: refusals, atMost: longest, using: &generator)
      )
    }
    return nil
  }

  private func serve(_ connection: Connection) async throws {
    open(connection)
    defer { close() }
    while let messages = await connection.down.receive() {
      for case .welcome in messages { welcomed() }
      for case .refused in messages { state.withLock { $0.refusals += 1 } }
      decide { core in
        let now = clocks.instant()
        return messages.flatMap { core.received($0, at: now) }
      }
    }
    let isNews = state.withLock { $0.lastProblem.isEmpty && !$0.isEnding }
    if isNews, !Task.isCancelled { note("the coordinator closed the connection") }
  }

  private func close() {
    let isEnding = state.withLock { state in
      state.connection = nil
      return state.isEnding
    }
    if isEnding { parted.raise() }
  }

  private func welcomed() {
    state.withLock { ($0.lastProblem, $0.refusals) = ("", 0) }
    // With a lease there are heartbeats to send.
    startSignal.raise()
    logger.notice("connected to the coordinator")
  }

  /// The hello is the first message: nobody may say anything on this connection before it.
  private func open(_ connection: Connection) {
    state.withLock { state in
      guard !state.isEnding else { return connection.close() }
      for case .send(let message) in state.core.connected(at: clocks.instant()) { connection.up.send(message) }
      state.connection = connection
    }
  }

  // MARK: Time

  private func tickLoop() async throws -> String? {
    while !Task.isCancelled {
      try await untilNextTick()
      decide { $0.tick(at: clocks.instant()) }
      sendOutput()
      if isDrainOver(at: clocks.instant()) { ends.send("") }
    }
    return nil
  }

  private func untilNextTick() async throws {
    let interval = state.withLock { $0.core.tickInterval }
    guard interval > WorkerCore.busyTickInterval else { return try await clocks.sleep(interval) }
    try await startSignal.wait { try await self.clocks.sleep(interval) }
  }

  /// How long a drained worker waits for the coordinator to store its endings; then they are told by the lease's end.
  private static let drainPatience = Duration.seconds(10)

  private func isDrainOver(at now: Instant) -> Bool {
    state.withLock { state in
      guard state.core.isDraining, state.core.launches.values.allSatisfy(\.hasEnded) else {
        state.onlyWaitsSince = nil
        return false
      }
      let since = state.onlyWaitsSince ?? now
      state.onlyWaitsSince = since
      return now - since > Self.drainPatience
    }
  }

  func endProcess() {
    logger.critical("ending the process: a handler ignored its expiry, and this is the only way to free the host")
    _exit(Self.overrunStatus)
  }

  /// Looks at the time on a thread of its own while there are launches: a handler that computes without a pause on every
  /// thread of Swift's tasks keeps the tick loop from running, and would live as long as it likes.
  func watchLaunches() {
    guard configuration.endsProcessOnOverrun else { return }
    let isFirst = state.withLock { state in
      defer { state.isWatched = true }
      return !state.isWatched
    }
    if isFirst { watchAgain() }
  }

  private func watchAgain() {
    let pause = DispatchTimeInterval.nanoseconds(Int(WorkerCore.busyTickInterval.nanoseconds))
    Self.watch.asyncAfter(deadline: .now() + pause) { [weak self] in
      guard let self else { return }
      decide { $0.tick(at: self.clocks.instant()) }
      let goesOn = state.withLock { state in
        state.isWatched = !state.core.isQuiet
        return state.isWatched
      }
      if goesOn { watchAgain() }
    }
  }

  private static let watch = DispatchQueue(label: "baton.deadlines")

  /// Exit status of a worker that ended itself because a handler ignored its deadline.
  package static let overrunStatus: Int32 = 86
}
