import BatonBase
import BatonCore
import BatonHost
import BatonModel
import BatonProcess
import Logging
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A worker's connection to its host: the probes of its conditions, the word of its owner, and the record of what
/// launches have used.
struct WorkerHost: Sendable {
  let monitor: ConditionMonitor
  let desk: OwnerDesk
  let use: UseFile
  /// The socket for `baton-worker pause`, `resume` and `status`; `nil` if this worker does not listen for them.
  let socket: OwnerSocketPath?
}

/// The work of a worker for its host: reading its conditions, answering its owner, and counting what launches use.
extension Worker {
  /// Returns the connection to the host; `nil` if `WorkerConfiguration.probesHost` is off.
  func makeHost(_ folders: WorkerFolders, _ processes: ProcessRegistry) -> WorkerHost? {
    guard configuration.probesHost else { return nil }
    let monitor = ConditionMonitor(configuration.conditions, clocks: clocks, own: ownWork())
    let clocks = clocks
    let desk = OwnerDesk(
      hours: configuration.hours, folder: folders.data,
      clock: { Now(instant: clocks.instant(), date: clocks.date(), steady: clocks.date()) },
      listener: { monitor.ownerSays($0) })
    let use = UseFile(folder: folders.data)
    for warning in [desk.warning, use.warning].compactMap({ $0 }) { logger.warning("\(warning)") }
    let socket =
      configuration.answersOwner
      ? OwnerSocketPath(
        setting: configuration.ownerSocket, name: configuration.name,
        environment: ProcessInfo.processInfo.environment, user: geteuid()) : nil
    return WorkerHost(monitor: monitor, desk: desk, use: use, socket: socket)
  }

  /// Returns the work of Baton on this host: that of the worker's process, of its supervisor, and of all their
  /// descendants.
  private func ownWork() -> ConditionMonitor.OwnWork {
    let tree = ProcessTree(root: SupervisedProcess.isSupervised ? getppid() : getpid())
    return ConditionMonitor.OwnWork(
      cpuTime: { [self] in tree.cpuTime(isGrowing: state.withLock { !$0.active.isEmpty }) },
      isWorking: { [self] in state.withLock { !$0.active.isEmpty } })
  }

  /// Reads the host's conditions once. The worker calls it before it connects, so that no launch is assigned under
  /// unknown conditions.
  func lookAtHost(_ host: WorkerHost) async {
    host.monitor.ownerSays(host.desk.word())
    conditionsChanged(await host.monitor.look())
  }

  /// Reads the host, answers its owner and counts what is used, until its task is cancelled.
  func serveHost(_ host: WorkerHost, _ processes: ProcessRegistry) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await host.monitor.run { self.conditionsChanged($0) } }
      group.addTask { await self.answerOwner(host, processes) }
      group.addTask { await self.watchUse(host, processes) }
    }
  }

  /// Answers the owner on the socket. If the socket fails, the worker goes on with a warning: the owner can then stop
  /// the worker only with signals.
  private func answerOwner(_ host: WorkerHost, _ processes: ProcessRegistry) async {
    guard let place = host.socket else { return }
    let logger = logger
    let socket = OwnerSocket(at: place, desk: host.desk) {
      self.status(host, processes)
    } warn: {
      logger.warning("\($0)")
    }
    do {
      try await socket.run { logger.debug("the host's owner is answered", metadata: ["socket": "\(place.path)"]) }
    } catch {
      logger.warning("the host's owner cannot pause this worker: \(error)")
    }
  }

  /// The time in seconds between two counts of what running launches use.
  private static let useInterval = 10

  private func watchUse(_ host: WorkerHost, _ processes: ProcessRegistry) async {
    var seconds = 0
    while (try? await clocks.sleep(.seconds(1))) != nil {
      host.desk.check()
      processes.lookAtFamilies()
      seconds += 1
      guard seconds.isMultiple(of: Self.useInterval) else { continue }
      for launch in state.withLock({ $0.core.launches.values.filter { !$0.hasEnded } }) {
        let use = launch.definition.work == nil ? nil : processes.use(of: launch.key)
        count(launch, use, host, isOver: false)
      }
      await save(host) { try await host.use.saveIfDue(at: clocks.instant()) }
    }
    await save(host) { try await host.use.save() }
  }

  private func save(_ host: WorkerHost, _ body: () async throws -> Void) async {
    do {
      try await body()
    } catch {
      logger.warning("what was used today cannot be written: \(error)")
    }
  }

  /// Counts the launch time of a launch, and its processor time if that is known.
  /// - Parameter use: what the processes of a command have used; `nil` for a Swift handler, whose processor time is not
  ///   measured.
  private func count(_ launch: WorkerLaunch, _ use: ProcessUse?, _ host: WorkerHost, isOver: Bool) {
    host.use.count(
      launch.key, launchTime: clocks.instant() - launch.startedAt, cpuTime: use?.cpuTime,
      on: clocks.date(), isOver: isOver)
  }

  /// Counts what a launch has used, for the last time, after its handler has ended.
  func countLast(_ launch: ActiveLaunch, _ processes: ProcessRegistry) {
    let use = launch.definition.work == nil ? nil : processes.endUse(of: launch.key)
    let known = state.withLock { state in state.host.map { ($0, state.core.launches[launch.key]) } }
    if case (let host, let state?)? = known { count(state, use, host, isOver: true) }
  }

  // MARK: Status

  /// Returns what `baton-worker status` shows to the host's owner.
  func status(_ host: WorkerHost, _ processes: ProcessRegistry) -> HostStatus {
    let (now, date) = (clocks.instant(), clocks.date())
    let (running, isConnected, address, sandbox) = state.withLock { state in
      (
        state.core.launches.values.filter { !$0.hasEnded }, state.connection != nil, state.address,
        state.core.capabilities.sandbox
      )
    }
    let launches = running.sorted { $0.key < $1.key }
    return HostStatus(
      at: date, name: configuration.name, version: BatonVersion.current,
      coordinator: .init(address: address ?? configuration.coordinator, isConnected: isConnected),
      owner: host.desk.word(at: now, date: date), slots: configuration.slots,
      usedSlots: launches.map(\.definition.requirements.slots).reduce(0, +), sandbox: sandbox,
      conditions: host.monitor.current,
      launches: launches.map { status(of: $0, processes, at: now, date: date) },
      today: .init(host.use.today(date), dailyAllowance: configuration.dailyAllowance))
  }

  private func status(
    of launch: WorkerLaunch, _ processes: ProcessRegistry, at now: Instant, date: Timestamp
  ) -> HostStatus.Launch {
    let assignment = launch.assignment
    return HostStatus.Launch(
      identifier: assignment.identifier, request: assignment.requestNumber, launch: assignment.launch.number,
      kind: launch.definition.kind, since: date + (launch.startedAt - now), progress: assignment.progress,
      expiring: launch.expiry.map { .init($0.reason, deadline: date + ($0.deadline - now)) },
      use: launch.definition.work == nil ? nil : processes.use(of: assignment.launch))
  }
}
