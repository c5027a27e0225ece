package import BatonModel
package import BatonProcess

/// Tells how hot a host is, from the zones of `sys/class/thermal` and from the throttling of Intel's processors.
///
/// Zones and trips are looked up again when the names in the folder change, and once per
/// `ThermalSettings.rescanInterval`. All other readings cost one small file per zone and one per processor package.
package struct ThermalProbe: Sendable {
  package static let source = "sysfs"
  private static let folder = "sys/class/thermal"

  private let root: SystemRoot
  private let settings: ThermalSettings
  private var names: [String] = []
  private var scannedAt: Instant?
  private var zones: [ThermalZone] = []
  private var throttle = ThrottleCounters()
  /// The state of the last reading by the zones alone.
  private var last: ThermalState?

  package init(root: SystemRoot, settings: ThermalSettings = ThermalSettings()) {
    self.root = root
    self.settings = settings
  }

  /// Returns the worst state of all zones. The state is unknown if no zone can be read and the processor does not
  /// throttle.
  package mutating func read(at now: Instant) -> Reading<ThermalState> {
    scan(at: now)
    let measured = zones.compactMap { zone in zone.celsius(root).map { (zone: zone, celsius: $0) } }
    let hot = state(of: measured)
    last = hot
    let throttled = throttle.read(root, at: now, window: settings.throttleWindow)
    let raw = [describe(measured), throttled].compactMap(\.self).joined(separator: "; ")
    let state = throttled == nil ? hot : max(hot ?? .nominal, .serious)
    return Reading(state, source: Self.source, raw: raw)
  }

  private mutating func scan(at now: Instant) {
    let present = root.names(in: Self.folder).filter { $0.hasPrefix("thermal_zone") }
    if let scannedAt, present == names, now - scannedAt < settings.rescanInterval { return }
    names = present
    scannedAt = now
    zones = present.compactMap { ThermalZone(in: "\(Self.folder)/\($0)", of: root, settings) }
    throttle.find(root)
  }

  /// The worst state by the zones. A state ends only when the temperature is `hysteresis` below the point at which the
  /// state began.
  private func state(of measured: [(zone: ThermalZone, celsius: Double)]) -> ThermalState? {
    guard let state = measured.map({ $0.zone.state(at: $0.celsius).state }).max() else { return nil }
    let held = measured.map { $0.zone.state(at: $0.celsius + settings.hysteresis).state }.max() ?? state
    return max(state, min(last ?? .nominal, held))
  }

  /// The zone that decides the state, such as `x86_pkg_temp 94.0 of 100.0 °C (critical)`.
  private func describe(_ measured: [(zone: ThermalZone, celsius: Double)]) -> String? {
    let each = measured.map { (name: $0.zone.name, celsius: $0.celsius, worst: $0.zone.state(at: $0.celsius)) }
    let decisive = each.max {
      ($0.worst.state.rawValue, $0.celsius - $0.worst.trip.celsius)
        < ($1.worst.state.rawValue, $1.celsius - $1.worst.trip.celsius)
    }
    guard let decisive else { return unreadable }
    let (trip, celsius) = (decisive.worst.trip, decisive.celsius)
    return "\(decisive.name) \(Self.tenths(celsius)) of \(Self.tenths(trip.celsius)) °C (\(trip.kind.rawValue))"
  }

  private var unreadable: String {
    if zones.isEmpty { return "no thermal zones" }
    return zones.map { "\($0.name): \(root.complaint(about: $0.file))" }.joined(separator: "; ")
  }

  private static func tenths(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }
}

/// Counts how often each processor package has throttled since the host started, by the files of one CPU per package
/// (Documentation/admin-guide/thermal, `thermal_throttle`).
struct ThrottleCounters {
  private static let folder = "sys/devices/system/cpu"
  private var files: [String] = []
  private var counts: [String: Int] = [:]
  private var throttledAt: Instant?

  /// Looks up the counter of each package.
  mutating func find(_ root: SystemRoot) {
    var packages: Set<String> = []
    files = root.names(in: Self.folder).compactMap { name in
      guard name.hasPrefix("cpu"), Int(name.dropFirst(3)) != nil else { return nil }
      let cpu = "\(Self.folder)/\(name)"
      let found = ["package", "core"].map { "\(cpu)/thermal_throttle/\($0)_throttle_count" }.first(where: root.exists)
      guard let found, packages.insert(root.string("\(cpu)/topology/physical_package_id") ?? "").inserted else {
        return nil
      }
      return found
    }
  }

  /// Returns a text for people if a counter rose within the last `window`, otherwise `nil`. The first reading of a
  /// counter only sets its starting point.
  mutating func read(_ root: SystemRoot, at now: Instant, window: Duration) -> String? {
    for file in files {
      let count = root.number(file)
      if let count, let before = counts[file], count > before { throttledAt = now }
      counts[file] = count
    }
    guard let throttledAt, now - throttledAt < window else { return nil }
    return "the processor throttles"
  }
}
