import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// How much others than Baton take of the host: of its processors, and how long they wait for memory or disks.
///
/// What is over its threshold counts at once, but the processors' load is a mean over the window, so that a short burst
/// is none. It counts until everything has been low for a while.
struct OtherLoad: Sendable {
  enum State: Hashable, Sendable {
    /// Why it is not known.
    case unknown(String)
    /// For people, such as `load 3 %`.
    case low(String)
    case high(IdleSettings.Source, String)
  }

  private struct Sample {
    var at: Instant
    var times: ProcessorTimes
    var own: Duration
  }

  private let root: SystemRoot
  private let settings: IdleSettings
  private let ownTime: @Sendable () -> Duration?
  /// The newest last; the first is the youngest that is older than the window, once there is one.
  private var samples: [Sample] = []
  private var lastHigh: (at: Instant, source: IdleSettings.Source, why: String)?
  /// When Baton's own work was last seen to run.
  private var lastWork: Instant?
  /// The kernel's mean over 10 s has forgotten all but a twentieth after three times that.
  private static let aftermath = Duration.seconds(30)
  /// Shortest distance of two samples, so that they stay few however often somebody asks.
  private static let spacing = Duration.milliseconds(500)

  /// - Parameter ownTime: processor time of Baton and of what it started, which never counts; nil where nobody knows.
  init(root: SystemRoot, settings: IdleSettings, ownTime: @escaping @Sendable () -> Duration?) {
    self.root = root
    self.settings = settings
    self.ownTime = ownTime
  }

  /// - Parameter isWorking: something that Baton started runs now, and may be what waits.
  mutating func read(at now: Instant, isWorking: Bool) -> State {
    if isWorking { lastWork = now }
    let company = lastWork.map { now - $0 < Self.aftermath } ?? false ? Pressure.Company.besideOwnWork(root) : .alone
    let share = share(at: now)
    let pressure = settings.ignored.contains(.pressure) ? Pressure() : Pressure(root: root)
    if let (source, why) = excess(share, pressure, company) { lastHigh = (now, source, why) }
    if let lastHigh, now - lastHigh.at < settings.loadCalm || lastHigh.at == now {
      let age = lastHigh.at == now ? "" : " \((now - lastHigh.at).roughly) ago"
      return .high(lastHigh.source, lastHigh.why + age)
    }
    switch share {
    case .success(let share): return pressure.gap.map { .unknown($0) } ?? .low("load \(share) %")
    case .failure(let gap): return .unknown(gap.why)
    }
  }

  private struct Gap: Error { var why: String }

  private func excess(
    _ share: Result<Int, Gap>, _ pressure: Pressure, _ company: Pressure.Company
  ) -> (IdleSettings.Source, String)? {
    if case .success(let share) = share, share > settings.otherLoad { return (.load, "load \(share) %") }
    return pressure.excess(settings, company).map { (.pressure, $0) }
  }

  /// What others took of all processors during the window, in per cent.
  private mutating func share(at now: Instant) -> Result<Int, Gap> {
    if settings.ignored.contains(.load) { return .success(0) }
    guard let times = ProcessorTimes(root: root) else { return .failure(Gap(why: "proc/stat not understood")) }
    guard let own = ownTime() else { return .failure(Gap(why: "own load not known")) }
    add(Sample(at: now, times: times, own: own))
    guard let first = samples.first, now - first.at >= settings.loadWindow else {
      return .failure(Gap(why: "load not known yet"))
    }
    let (busy, total) = (times.busy - first.times.busy, times.total - first.times.total)
    guard total > 0 else { return .failure(Gap(why: "proc/stat stands still")) }
    // Own time goes back when a process ends that nobody reaps.
    let others = Double(busy) - max(0, (own - first.own).inSeconds) * ProcessorTimes.ticksPerSecond
    return .success(min(100, max(0, Int(others * 100 / Double(total)))))
  }

  private mutating func add(_ sample: Sample) {
    if let last = samples.last, sample.at - last.at < Self.spacing { return }
    samples.append(sample)
    while samples.count > 2, sample.at - samples[1].at >= settings.loadWindow { samples.removeFirst() }
  }
}

/// How long all processors together did something, and passed, in ticks: the first line of `proc/stat` (Linux,
/// proc(5)).
struct ProcessorTimes: Hashable, Sendable {
  var busy: Int
  var total: Int

  static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))

  /// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`: guests are part of user and nice; what the
  /// hypervisor stole is nobody's here.
  init?(root: SystemRoot) {
    guard let text = root.string("proc/stat") else { return nil }
    let line = text[..<(text.utf8.firstIndex(of: UInt8(ascii: "\n")) ?? text.endIndex)]
    let columns = line.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
    let values = columns.dropFirst().prefix(8).compactMap { Int($0) }
    guard columns.first == "cpu", values.count >= 4, values.allSatisfy({ (0..<1 << 53).contains($0) }) else {
      return nil
    }
    func value(_ place: Int) -> Int { place < values.count ? values[place] : 0 }
    busy = value(0) + value(1) + value(2) + value(5) + value(6)
    total = busy + value(3) + value(4) + value(7)
  }
}
