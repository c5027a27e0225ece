package import BatonModel
import Synchronization

/// Reads the host again and again, and says what its conditions are whenever they change: the shell around
/// `ConditionsCore`. What the system reports as an event is read at once, the rest every second, and what costs a
/// process every few seconds.
package final class ConditionMonitor: Sendable {
  package typealias Listener = @Sendable (Conditions) -> Void

  private let settings: ConditionSettings
  private let clocks: WorkerClocks
  private let own: OwnWork
  private let bus: SystemBus
  private let target: TargetCheck?
  private let mac: MacSystem
  private let glances: Mutex<Glance>
  private let state: Mutex<State>

  /// What Baton itself does on the host: it makes no host busy.
  package struct OwnWork: Sendable {
    /// Processor time of Baton and all that it started, ended processes included; nil where nobody knows.
    package var cpuTime: @Sendable () -> Duration?
    /// A launch runs.
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
    /// Sessions at a screen, which logind may be asked about.
    var desktops: [String] = []
    /// When the look at the small files began that is under way.
    var glanceBegan: Instant?
    var lastCost = LastWord<NetworkCost>()
    var lastProfile = LastWord<Reading<Bool>>()
    var lastLogind = LastWord<LogindAnswer>()
    /// Nothing tells of changes on the bus.
    var isBusBlind = true
    /// What the listener was told last, and when.
    var told: (conditions: Conditions, isWaiting: Bool, at: Instant)?
    var listener: Listener?
    /// Makes the next look at the small files come at once.
    var nextGlance: AsyncStream<Void>.Continuation?
  }

  /// - Parameter own: what Baton itself does on this host.
  package init(
    _ settings: ConditionSettings, clocks: WorkerClocks = .system, command: SystemCommand = .system,
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

  /// Asks every probe once, and returns what counts then. What has not answered by then is unknown.
  /// - Parameter patience: real time, whatever the monitor's clock shows: it is not what is measured here.
  package func look(within patience: Duration = ConditionMonitor.patience) async -> Conditions {
    let isDone = FirstAnswer<Void>()
    // On its own: a driver that hangs must not keep the worker from its coordinator and its owner.
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

  /// The small files are being read.
  package var isGlancing: Bool { state.withLock { $0.glanceBegan != nil } }

  private func lookAtAll() async {
    await readBus()
    await glance()
    await withTaskGroup(of: Void.self) { group in
      for read in expensive { group.addTask { await read.body() } }
    }
  }

  private func glanceSoon() { state.withLock { $0.nextGlance }?.yield() }

  /// What counts now.
  package var current: Conditions { state.withLock { $0.core.conditions(at: clocks.instant()) } }

  /// The owner's word counts at once.
  package func ownerSays(_ word: OwnersWord) { observe { $0.owner = word } }

  /// Reads until its task is cancelled. The listener is called in the order of what was read, and never twice at once;
  /// it must not wait.
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

  package static let upsInterval = Duration.seconds(2)
  package static let gpuInterval = isMac ? Duration.seconds(600) : .seconds(2)
  /// Where nothing tells of changes on the bus.
  package static let busInterval = Duration.seconds(5)
  /// Where something does: in case it missed one.
  package static let watchedBusInterval = Duration.seconds(60)
  /// How old what was read may be at the coordinator, while it makes no difference.
  package static let tellInterval = Duration.seconds(30)

  private struct ExpensiveRead: Sendable {
    var interval: Duration
    var body: @Sendable () async -> Void
  }

  #if os(macOS)
    /// Commands take the place of files there, and cost more.
    package static let glanceInterval = Duration.seconds(5)
    private static let isMac = true
  #else
    package static let glanceInterval = Duration.seconds(1)
    private static let isMac = false
  #endif

  /// What starts a process or opens a connection: each in a loop of its own, so that none waits for another.
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

  /// Nobody waits for a look: one that hangs must keep neither the next moment nor the end of the worker.
  private func glance(at moments: AsyncStream<Void>) async {
    for await _ in moments { Task { await self.glance() } }
  }

  private func tick(every interval: Duration, _ now: AsyncStream<Void>.Continuation) async {
    await repeating(interval) { now.yield() }
    now.finish()
  }

  /// Links, addresses and routes.
  private func watchNetwork(_ now: AsyncStream<Void>.Continuation) async {
    guard settings.root.isOwn, settings.probes.contains(.network), let watch = NetlinkWatch() else { return }
    for await _ in watch {
      state.withLock { $0.reachability?.networkChanged() }
      now.yield()
    }
  }

  /// Supplies that are plugged in and out, as far as their drivers say so.
  private func watchSupplies(_ now: AsyncStream<Void>.Continuation) async {
    guard settings.root.isOwn, settings.probes.contains(.power), let watch = NetlinkWatch(.devices) else { return }
    for await _ in watch { now.yield() }
  }

  /// Sessions, the power profile and the network's cost.
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

  /// Nothing tells of changes on a bus that is there.
  private var asksOften: Bool { state.withLock { $0.isBusBlind } && SystemBus.isThere(in: settings.root) }

  // MARK: Reading

  /// The small files. A driver may take its time to answer, so this has a thread of its own, and no more than one: who
  /// comes meanwhile is served by the next look, a second later.
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

  /// What was read counts no longer when a driver has not answered for so long.
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

  /// Tells the listener what is new: at once if it says something else, and every now and then if other numbers were
  /// read.
  private func publish() {
    let now = clocks.instant()
    state.withLock { state in
      // Nothing counts before every probe has been asked: the first reading does as it is.
      guard let listener = state.listener else { return }
      let conditions = state.core.conditions(at: now)
      guard state.isNews(conditions, at: now) else { return }
      state.told = (conditions, state.core.isWaiting, now)
      listener(conditions)
    }
  }
}

extension ConditionMonitor.State {
  /// What the look needs to know; nil if one is under way.
  fileprivate mutating func beginGlance(at now: Instant) -> BusFacts? {
    guard glanceBegan == nil else { return nil }
    glanceBegan = now
    return busFacts
  }

  fileprivate func isNews(_ conditions: Conditions, at now: Instant) -> Bool {
    guard let told else { return true }
    if !conditions.agrees(with: told.conditions) || core.isWaiting != told.isWaiting { return true }
    return now - told.at >= ConditionMonitor.tellInterval
      && conditions.aged(by: nil) != told.conditions.aged(by: nil)
  }
}
