import BatonBase
import BatonCore
import BatonModel
import BatonProcess
import BatonTelemetry
import BatonWire
import Dispatch
import Logging
import ServiceLifecycle
import Synchronization

/// The main loops of the worker: connecting, the passing of time, and the end.
extension Worker {
  /// Runs this worker: connects to the coordinator, runs the launches that it assigns, and reports how they end.
  ///
  /// Register all handlers before. The method returns after a graceful shutdown: each launch has expired with the
  /// reason `draining`, and the coordinator has stored the endings, or has not answered for 10 s after the last launch
  /// ended.
  ///
  /// - Throws: `WorkerError` if the worker cannot start or go on, with a message that says what to do. For example, the
  ///   settings are wrong, another worker uses the data folder, or the coordinator has refused this worker for good.
  public func run() async throws {
    let handlers = registry.withLock { registry in
      registry.isRunning = true
      return registry.handlers.map(\.pattern).sorted()
    }
    state.withLock { $0.core.announce(handlers) }
    guard HostName(configuration.name).isWellFormed else {
      throw WorkerError(
        "'\(configuration.name.escapedOnOneLine)' is not a valid worker's name: a name has \(HostName.rule)")
    }
    let folders = try WorkerFolders(data: configuration.dataFolder)
    try FolderLock.refuseStore(in: folders.data)
    let lock = try FolderLock(folder: folders.data)
    defer { extendLifetime(lock) }
    let secret = try ownSecret(folders)
    state.withLock { $0.core.prove(with: secret) }
    readReceipts(data: folders.data)
    let processes = ProcessRegistry(
      folders: folders, adoptsOrphans: configuration.ownsProcess, groups: launchGroups(folders),
      helper: configuration.sandbox.helper)
    let endsAllProcesses = configuration.ownsProcess || processes.groups != nil
    state.withLock { ($0.processes, $0.spares) = (processes, endsAllProcesses ? SpareFolders(in: folders) : nil) }
    let killed = processes.killLeftovers()
    if killed > 0 {
      logger.warning("killed processes that an earlier worker left", metadata: ["processes": "\(killed)"])
    }
    folders.removeLeftovers()
    let host = makeHost(folders, processes)
    let limit = try await cpuLimit()
    if configuration.runsCommands { await prepareSandbox(folders) }
    state.withLock { ($0.host, $0.limit) = (host, limit) }
    if let host { await lookAtHost(host) }
    let connector = try self.connector ?? GRPCConnector(configuration, logger: logger)
    let why = try await writingLastReceipts {
      try await self.runLoops(connector, host, processes, folders)
    }
    if !why.isEmpty { throw WorkerError(why) }
  }

  /// Connects, and runs what is assigned, until the worker ends.
  /// - Returns: the reason; an empty text for a shutdown.
  private func runLoops(
    _ connector: any Connector, _ host: WorkerHost?, _ processes: ProcessRegistry, _ folders: WorkerFolders
  ) async throws -> String {
    try await withThrowingTaskGroup(of: String?.self) { group in
      group.addTask { try await self.connectionLoop(connector) }
      group.addTask { try await RPCLoop.run { try await self.tickLoop() } }
      group.addTask {
        await withTaskCancellationHandler {
          await RPCLoop.run { await self.startLoop(processes, folders) }
        } onCancel: {
          // A handler that waits for a commit would wait for ever.
          self.decide { $0.cutOff() }
        }
        return nil
      }
      if let host {
        group.addTask {
          await self.serveHost(host, processes)
          return nil
        }
      }
      if let transfers {
        group.addTask {
          try await RPCLoop.run { try await self.orderLoop(transfers) }
          return nil
        }
        group.addTask {
          try await RPCLoop.run { try await self.statusLoop(transfers) }
          return nil
        }
        group.addTask {
          try await RPCLoop.run { try await self.conditionLoop(transfers) }
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
  }

  /// The secret that proves that later processes of this worker belong to the same worker. It is stored in the data
  /// folder: after a restart the host still has it, and another host with the same name does not.
  private func ownSecret(_ folders: WorkerFolders) throws -> [UInt8] {
    do {
      let (secret, isNew) = try SecretFile.own(folders.secret)
      if isNew {
        logger.info(
          "made the secret that proves that this worker's name belongs to it", metadata: ["file": "\(folders.secret)"])
      }
      return secret
    } catch {
      throw WorkerError(
        "the secret that proves this worker's name cannot be read: \(error). If the secret is lost, remove the file "
          + "and run 'baton hosts --forget \(configuration.name)'")
    }
  }

  /// The control groups for launches; `nil` if this worker cannot make any. Only the sweep then finds processes that
  /// left their launch.
  private func launchGroups(_ folders: WorkerFolders) -> LaunchGroups? {
    do throws(SystemError) {
      let groups = try LaunchGroups.found(for: folders.data)
      logger.info("each launch has a control group of its own", metadata: ["below": "\(groups.base)"])
      return groups
    } catch {
      logger.info("launches have no control groups: \(error)")
      return nil
    }
  }

  /// Prepares the limit on the processor time of commands; `nil` if the settings have none. Call it once, before the
  /// first command is started.
  private func cpuLimit() async throws -> CPULimit? {
    guard let quota = configuration.cpuLimit else { return nil }
    let supervisor = SupervisedProcess.isSupervised ? getppid() : nil
    let limit = try await onOwnThread { CPULimit.prepare(quota, supervisor: supervisor) }
    logger.notice("\(limit.notice)")
    return limit
  }

  /// Waits until a shutdown is complete, or the coordinator has refused this worker for good. Returns the reason; an
  /// empty text for a shutdown.
  private func waitForEnd() async -> String? {
    await withGracefulShutdownHandler {
      await ends.receive()?.first ?? ""
    } onGracefulShutdown: {
      self.drain()
    }
  }

  /// Takes nothing new, expires every launch with `draining`, and ends when the coordinator has all endings.
  package func drain() { decide { $0.drain(at: clocks.instant()) } }

  /// Ends the connection after all queued messages have been sent. The coordinator then takes the lease back at once.
  /// This waits at most `partingPatience`.
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

  /// Connects again and again. Returns `nil` when the task is cancelled, and a reason if the coordinator refuses this
  /// worker for good.
  private func connectionLoop(_ connector: any Connector) async throws -> String? {
    var generator = SystemRandomNumberGenerator()
    while !Task.isCancelled {
      let before = clocks.instant()
      if addressCount > 1 { state.withLock { $0.address = connector.address } }
      do {
        try await connector.withConnection { try await self.serve($0) }
      } catch let error as ConnectionError {
        if error.isFinal { return error.message }
        note(error.message)
      }
      if Task.isCancelled { return nil }
      let lifetime = clocks.instant() - before
      let pause = state.withLock { $0.core.pauseBeforeConnecting(afterConnectionOf: lifetime, using: &generator) }
      try await clocks.sleep(pause)
    }
    return nil
  }

  /// Handles one connection until it is closed.
  func serve(_ connection: Connection) async throws {
    open(connection)
    defer {
      close()
      writeReceiptsIfDue(isLast: true)
    }
    while let messages = await connection.down.receive() {
      for case .welcome in messages { welcomed() }
      for case .transfers(let orders) in messages { keep(orders) }
      decide { core in
        let now = clocks.instant()
        return messages.flatMap { core.received($0, at: now) }
      }
      writeReceiptsIfDue()
    }
    let isNews = state.withLock { $0.problems.isEmpty && !$0.isEnding }
    if isNews, !Task.isCancelled { note("the coordinator closed the connection") }
  }

  private func close() {
    let isEnding = state.withLock { state in
      state.core.disconnected()
      state.connection = nil
      return state.isEnding
    }
    if isEnding { parted.raise() }
  }

  private func welcomed() {
    let metadata = state.withLock { state in
      state.problems = []
      state.transfers.welcomes += 1
      return state.addressMetadata
    }
    // With a lease there are heartbeats to send.
    startSignal.raise()
    logger.notice("connected to the coordinator", metadata: metadata)
  }

  /// Enters the connection. The hello is sent under the lock, so that no other message comes before it.
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
    }
    return nil
  }

  private func untilNextTick() async throws {
    let interval = state.withLock { $0.core.tickInterval }
    guard interval > WorkerCore.busyTickInterval else { return try await clocks.sleep(interval) }
    try await startSignal.wait { try await self.clocks.sleep(interval) }
  }

  func endProcess() {
    logger.critical("ending the process: a handler ignored its expiry, and this is the only way to free the host")
    _exit(Self.overrunStatus)
  }

  /// Watches the deadlines of launches on a separate thread while there are launches. A handler that computes on all
  /// threads of Swift's task pool without a pause keeps the tick loop from running. Without this watch, it could run
  /// for as long as it likes.
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

  /// The exit status of a worker that ended itself because a handler ignored its deadline.
  package static let overrunStatus: Int32 = 86
}
