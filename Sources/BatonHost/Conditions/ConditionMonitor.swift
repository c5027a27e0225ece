package import BatonBase
package import BatonModel
package import BatonProcess
import Synchronization

/// Reads the host's conditions at intervals, and reports them to a listener when they change. It is the shell around
/// `ConditionsCore`, and the worker owns it.
///
/// An event of the system is followed by a reading at once. Small files are read every second (on a Mac, every 5
/// seconds). Readings that need a process or a connection have intervals of their own, most of them of a few seconds.
package final class ConditionMonitor: Sendable {
  package typealias Listener = @Sendable (Conditions) -> Void

  private let settings: ConditionSettings
  private let clocks: Clocks
  private let own: OwnWork
  private let bus: SystemBus
  private let target: TargetCheck?
  private let mac: MacSystem
  private let glances: Mutex<Glance>
  private let state: Mutex<State>

  /// The work of Baton itself on the host. It must not make the host count as busy.
  package struct OwnWork: Sendable {
    /// Returns the processor time of Baton and of all processes that it has started, ended ones included; `nil` if the
    /// system does not tell.
    package var cpuTime: @Sendable () -> Duration?
    /// Returns whether a launch is running.
    package var isWorking: @Sendable () -> Bool

    package init(cpuTime: @escaping @Sendable () -> Duration?, isWorking: @escaping @Sendable () -> Bool) {
      self.cpuTime = cpuTime
      self.isWorking = isWorking
    }
  }

  fileprivate struct State {
    var core: ConditionsCore
    var ups: UPSProbe
    var gpus: GPUProbe
    var facts: FactsProbe?
    var reachability: Reachability?
    var busFacts = BusFacts()
    /// The graphical sessions that logind may be asked about.
    var desktops: [String] = []
    /// When the current reading of the small files began; `nil` while none is running.
    var glanceBegan: Instant?
    var lastCost = LastWord<NetworkCost>()
    var lastProfile = LastWord<Reading<Bool>>()
    var lastLogind = LastWord<LogindAnswer>()
    /// `true` while changes on the system bus are not reported, so that the bus has to be asked more often.
    var isBusBlind = true
    /// The last report to the listener, and its time.
    var told: (conditions: Conditions, isWaiting: Bool, at: Instant)?
    var listener: Listener?
    /// Triggers a reading of the small files without the usual wait.
    var nextGlance: AsyncStream<Void>.Continuation?
  }

  /// - Parameter own: the work of Baton itself on this host.
  package init(
    _ settings: ConditionSettings, clocks: Clocks = .system, command: SystemCommand = .system,
    own: OwnWork
  ) {
    self.own = own
    self.settings = settings
    self.clocks = clocks
    bus = SystemBus(command: command) { SystemBus.isThere(in: settings.root) }
    mac = MacSystem(settings, command: command)
    target = settings.network.reachability.map { TargetCheck(settings: $0) }
    glances = Mutex(Glance(settings, ownTime: own.cpuTime))
    state = Mutex(
      State(
        core: ConditionsCore(settings), ups: UPSProbe(settings.ups, command: command),
        gpus: GPUProbe(root: settings.root, settings: settings.gpu, command: command),
        facts: settings.facts.map { FactsProbe($0, labels: settings.labels, command: command) },
        reachability: settings.network.reachability.map { Reachability(settings: $0) }))
  }

  // MARK: For the worker

  /// Asks every probe once, and returns the conditions that count after that. Probes that have not answered within
  /// `patience` count as unknown.
  /// - Parameter patience: the longest wait. It is real time, even if `clocks` of the monitor are those of a test.
  package func look(within patience: Duration = ConditionMonitor.patience) async -> Conditions {
    let isDone = FirstAnswer<Void>()
    // This is a task of its own, which is not waited for: a driver that hangs must not keep the worker from its
    // coordinator and its owner.
    Task {
      await lookAtAll()
      isDone.give(())
    }
    let silence = Task {
      guard (try? await Task.sleep(for: patience, clock: .continuous)) != nil, isDone.give(()) else { return }
      take(.silence(settings.probes))
    }
    await isDone.value
    silence.cancel()
    return current
  }

  /// Whether the small files are being read now.
  package var isGlancing: Bool { state.withLock { $0.glanceBegan != nil } }

  private func lookAtAll() async {
    await readBus()
    await glance()
    await withTaskGroup(of: Void.self) { group in
      for read in expensive { group.addTask { await read.body() } }
    }
  }

  private func glanceSoon() { state.withLock { $0.nextGlance }?.yield() }

  /// The conditions that count now.
  package var current: Conditions { state.withLock { $0.core.conditions(at: clocks.instant()) } }

  /// Takes a new word of the host's owner. It counts at once, without the delays that other conditions have.
  package func ownerSays(_ word: OwnersWord) { observe { $0.owner = word } }

  /// Reads the host until the task is cancelled.
  /// - Parameter listener: is called with the conditions when they have changed. The calls come in the order of the
  ///   readings, and one at a time. It is called under a lock, so it must not wait.
  package func run(_ listener: @escaping Listener) async {
    let (moments, now) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    state.withLock { ($0.listener, $0.nextGlance) = (listener, now) }
    defer { state.withLock { ($0.listener, $0.nextGlance) = (nil, nil) } }
    publish()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.tick(every: Self.glanceInterval, now) }
      group.addTask { await self.watchNetwork(now) }
      group.addTask { await self.watchSupplies(now) }
      group.addTask { await self.glance(at: moments) }
      group.addTask { await self.watchBus() }
      for read in expensive { group.addTask { await self.repeating(read.interval, read.body) } }
    }
  }

  // MARK: Loops

  /// The time between two readings of the UPS.
  package static let upsInterval = Duration.seconds(2)
  /// The time between two readings of the GPUs.
  package static let gpuInterval = isMac ? Duration.seconds(600) : .seconds(2)
  /// The time between two readings of the system bus while changes on it are not reported.
  package static let busInterval = Duration.seconds(5)
  /// The time between two readings of the system bus while changes on it are reported. The readings catch a change
  /// whose report was missed.
  package static let watchedBusInterval = Duration.seconds(60)
  /// The time after which new numbers are reported although they make no difference to any launch. The coordinator's
  /// numbers are never much older.
  package static let tellInterval = Duration.seconds(30)

  private struct ExpensiveRead: Sendable {
    var interval: Duration
    var body: @Sendable () async -> Void
  }

  #if os(macOS)
    /// The time between two readings of the small files. A Mac has commands in place of these files, which cost more.
    package static let glanceInterval = Duration.seconds(5)
    private static let isMac = true
  #else
    /// The time between two readings of the small files.
    package static let glanceInterval = Duration.seconds(1)
    private static let isMac = false
  #endif

  /// The readings that start a process or open a connection. Each has a loop of its own, so that no reading waits for
  /// another.
  private var expensive: [ExpensiveRead] {
    var reads: [ExpensiveRead] = []
    if settings.probes.contains(.ups) { reads.append(.init(interval: Self.upsInterval) { await self.readUPS() }) }
    if settings.probes.contains(.gpu) { reads.append(.init(interval: Self.gpuInterval) { await self.readGPUs() }) }
    if let facts = settings.facts { reads.append(.init(interval: facts.every) { await self.readFacts() }) }
    if target != nil { reads.append(.init(interval: .seconds(1)) { await self.askTarget() }) }
    return reads
  }

  private func repeating(_ interval: Duration, _ body: @Sendable () async -> Void) async {
    while (try? await clocks.sleep(interval)) != nil { await body() }
  }

  /// Starts a reading of the small files at each moment of the stream, and does not wait for it: a reading that hangs
  /// must not delay the next moment or the end of the worker.
  private func glance(at moments: AsyncStream<Void>) async {
    for await _ in moments { Task { await self.glance() } }
  }

  private func tick(every interval: Duration, _ now: AsyncStream<Void>.Continuation) async {
    await repeating(interval) { now.yield() }
    now.finish()
  }

  /// Watches links, addresses and routes of the network.
  private func watchNetwork(_ now: AsyncStream<Void>.Continuation) async {
    guard settings.root.isOwn, settings.probes.contains(.network), let watch = NetlinkWatch() else { return }
    for await _ in watch {
      state.withLock { $0.reachability?.networkChanged() }
      now.yield()
    }
  }

  /// Watches power supplies that are plugged in and out, as far as their drivers report it.
  private func watchSupplies(_ now: AsyncStream<Void>.Continuation) async {
    guard settings.root.isOwn, settings.probes.contains(.power), let watch = NetlinkWatch(.devices) else { return }
    for await _ in watch { now.yield() }
  }

  /// Watches the system bus for changes of sessions, of the power profile and of the network's cost.
  private func watchBus() async {
    guard settings.root.isOwn, !Self.isMac, !settings.probes.isDisjoint(with: [.idle, .lowPowerMode, .network]) else {
      return
    }
    let (moments, now) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await BusWatch(isThere: { SystemBus.isThere(in: self.settings.root) }).run { event in
          self.state.withLock { $0.isBusBlind = event == .blind }
          if event == .changed { now.yield() }
        }
      }
      group.addTask {
        var rest = Duration.zero
        while (try? await self.clocks.sleep(Self.busInterval)) != nil {
          rest -= Self.busInterval
          guard rest <= .zero || self.asksOften else { continue }
          rest = Self.watchedBusInterval
          now.yield()
        }
        now.finish()
      }
      for await _ in moments {
        await readBus()
        glanceSoon()
      }
      group.cancelAll()
    }
  }

  /// Whether the bus exists and its changes are not reported.
  private var asksOften: Bool { state.withLock { $0.isBusBlind } && SystemBus.isThere(in: settings.root) }

  // MARK: Reading

  /// Reads the small files on a thread of its own, because a driver may take long to answer. Only one reading runs at a
  /// time: a call in the meantime returns without a reading, and the next interval brings one.
  private func glance() async {
    let now = clocks.instant()
    guard let facts = state.withLock({ $0.beginGlance(at: now) }) else { return weighSilence(at: now) }
    if Self.isMac {
      take(await mac.look())
    } else if let seen = try? await onOwnThread({ [self] in
      glances.withLock { $0.look(at: now, date: clocks.date(), facts, isWorking: own.isWorking()) }
    }) {
      take(seen)
    }
    state.withLock { $0.glanceBegan = nil }
  }

  private func take(_ seen: Glance.Seen) {
    state.withLock { $0.desktops = seen.desktops }
    observe { observations in
      observations.power = seen.power
      observations.thermal = seen.thermal
      observations.idle = seen.idle
      observations.lowPowerModes = seen.lowPowerModes
    } network: {
      seen.network
    }
  }

  /// How long a driver may take to answer. After that the earlier readings count as unknown.
  package static let patience = Duration.seconds(10)

  private func weighSilence(at now: Instant) {
    guard state.withLock({ $0.glanceBegan.map { now - $0 >= Self.patience } ?? false }) else { return }
    take(.silence(settings.probes))
  }

  private func readBus() async {
    guard settings.root.isOwn, !Self.isMac else { return }
    let now = clocks.instant()
    if settings.probes.contains(.network) {
      let word = await bus.networkCost(at: now)
      state.withLock { $0.busFacts.networkCost = $0.lastCost.take(word, at: now) }
    }
    if settings.probes.contains(.lowPowerMode) {
      let word = await PowerProfileProbe(bus: bus).read(at: now)
      state.withLock { $0.busFacts.powerProfile = $0.lastProfile.take(word, at: now) }
    }
    if settings.probes.contains(.idle) {
      let (desktops, before) = state.withLock { ($0.desktops, $0.busFacts.logind) }
      let word = await bus.logind(sessions: desktops, before: before, at: now)
      state.withLock { $0.busFacts.logind = $0.lastLogind.take(word, at: now) }
    }
  }

  private func readUPS() async {
    var probe = state.withLock { $0.ups }
    let readings = await probe.read(at: clocks.instant())
    state.withLock { [probe] in $0.ups = probe }
    observe { $0.ups = readings }
  }

  private func readGPUs() async {
    if Self.isMac {
      let reading = await mac.gpus()
      return observe { $0.gpus = reading }
    }
    var probe = state.withLock { $0.gpus }
    let reading = await probe.read(at: clocks.instant())
    state.withLock { [probe] in $0.gpus = probe }
    observe { $0.gpus = reading }
  }

  private func readFacts() async {
    guard var probe = state.withLock({ $0.facts }) else { return }
    let reading = await probe.read()
    state.withLock { [probe] in $0.facts = probe }
    observe { $0.labels = reading }
  }

  private func askTarget() async {
    let now = clocks.instant()
    guard let target, state.withLock({ $0.reachability?.shouldAsk(at: now) ?? false }) else { return }
    let answer = await target.ask()
    state.withLock { $0.reachability?.take(answer) }
    glanceSoon()
  }

  // MARK: Saying

  private func observe(
    _ body: (inout Observations) -> Void, network: () -> Reading<NetworkState>? = { nil }
  ) {
    state.withLock { state in
      body(&state.core.observations)
      if let reading = network() {
        state.core.observations.network = state.reachability?.applied(to: reading) ?? reading
      }
    }
    publish()
  }

  /// Reports the conditions to the listener if there is news: at once if they differ in a way that matters, and after
  /// `tellInterval` if only numbers differ.
  private func publish() {
    let now = clocks.instant()
    state.withLock { state in
      // There is no listener before `run`. `look` asks all probes before that, so that the first report is complete.
      guard let listener = state.listener else { return }
      let conditions = state.core.conditions(at: now)
      guard state.isNews(conditions, at: now) else { return }
      state.told = (conditions, state.core.isWaiting, now)
      listener(conditions)
    }
  }
}

extension ConditionMonitor.State {
  /// Begins a reading of the small files, and returns what it needs to know from the bus; `nil` if a reading is already
  /// running.
  fileprivate mutating func beginGlance(at now: Instant) -> BusFacts? {
    guard glanceBegan == nil else { return nil }
    glanceBegan = now
    return busFacts
  }

  /// Whether the conditions must be reported. They must if they do not agree with the last report, if a delayed change
  /// has begun or ended, or if other numbers were read since a report that is older than `tellInterval`.
  fileprivate func isNews(_ conditions: Conditions, at now: Instant) -> Bool {
    guard let told else { return true }
    if !conditions.agrees(with: told.conditions) || core.isWaiting != told.isWaiting { return true }
    return now - told.at >= ConditionMonitor.tellInterval
      && conditions.aged(by: nil) != told.conditions.aged(by: nil)
  }
}
