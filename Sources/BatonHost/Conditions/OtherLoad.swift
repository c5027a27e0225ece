import BatonBase
import BatonModel
import BatonProcess

/// Measures how much of the host programs other than Baton's use: their share of the processors, and the pressure on
/// memory and disks.
///
/// A value above its threshold counts at once. The processors' load is a mean over the window, so that a short burst
/// does not count. The host then counts as busy until all values have been low for `IdleSettings.loadCalm`.
struct OtherLoad: Sendable {
  enum State: Hashable, Sendable {
    /// The load is not known, for this reason.
    case unknown(String)
    /// The load, in words for people, such as `load 3 %`.
    case low(String)
    /// A value is, or recently was, above its threshold. The text is for people.
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
  /// The samples in the order of time. The first one is the youngest sample that is at least as old as the window, or
  /// the oldest sample if no sample is that old yet.
  private var samples: [Sample] = []
  private var lastHigh: (at: Instant, source: IdleSettings.Source, why: String)?
  /// When work of Baton was last seen to run.
  private var lastWork: Instant?
  /// How long Baton's own work affects the pressure after it has ended: after three times 10 s, the kernel's mean over
  /// 10 s contains only a twentieth of it.
  private static let aftermath = Duration.seconds(30)
  /// The shortest time between two samples. It limits their number, however often `read` is called.
  private static let spacing = Duration.milliseconds(500)

  /// - Parameter ownTime: the processor time of Baton and of the processes that it started, which does not count as
  ///   load; `nil` if it is not known.
  init(root: SystemRoot, settings: IdleSettings, ownTime: @escaping @Sendable () -> Duration?) {
    self.root = root
    self.settings = settings
    self.ownTime = ownTime
  }

  /// Reads processor times and pressure, and judges them.
  /// - Parameter isWorking: whether a process that Baton started runs now. The pressure may then come from this
  ///   process.
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

  /// Why the load is not known.
  private struct Gap: Error { var why: String }

  /// The value that is above its threshold now, with words for people; `nil` if none is.
  private func excess(
    _ share: Result<Int, Gap>, _ pressure: Pressure, _ company: Pressure.Company
  ) -> (IdleSettings.Source, String)? {
    if case .success(let share) = share, share > settings.otherLoad { return (.load, "load \(share) %") }
    return pressure.excess(settings, company).map { (.pressure, $0) }
  }

  /// The share of all processors that other programs used during the window, in per cent.
  private mutating func share(at now: Instant) -> Result<Int, Gap> {
    if settings.ignored.contains(.load) { return .success(0) }
    guard let times = ProcessorTimes(root: root) else { return .failure(Gap(why: "proc/stat cannot be understood")) }
    guard let own = ownTime() else {
      return .failure(Gap(why: "the processor time of Baton's own processes is not known"))
    }
    add(Sample(at: now, times: times, own: own))
    guard let first = samples.first, now - first.at >= settings.loadWindow else {
      return .failure(Gap(why: "the load has not been measured long enough yet"))
    }
    let (busy, total) = (times.busy - first.times.busy, times.total - first.times.total)
    guard total > 0 else { return .failure(Gap(why: "proc/stat does not change")) }
    // Baton's own time decreases when a process ends and Baton does not reap it.
    let others = Double(busy) - max(0, (own - first.own).inSeconds) * ProcessorTimes.ticksPerSecond
    return .success(min(100, max(0, Int(others * 100 / Double(total)))))
  }

  private mutating func add(_ sample: Sample) {
    if let last = samples.last, sample.at - last.at < Self.spacing { return }
    samples.append(sample)
    while samples.count > 2, sample.at - samples[1].at >= settings.loadWindow { samples.removeFirst() }
  }
}

/// The time that all processors together were busy, and the total time that passed, in ticks: the first line of
/// `proc/stat` (Linux, proc(5)).
struct ProcessorTimes: Hashable, Sendable {
  var busy: Int
  var total: Int

  static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))

  /// Parses `cpu  user nice system idle iowait irq softirq steal guest guest_nice`. The times of guests are part of
  /// user and nice. Time that the hypervisor took (steal) counts as passed, but not as busy.
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
