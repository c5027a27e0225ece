import BatonModel

/// A trip of a zone, and from which temperature on it means which state; all in °C.
struct ThermalTrip: Hashable {
  /// The kernel's words (Documentation/driver-api/thermal/sysfs-api.rst); `assumed` where it has none.
  enum Kind: String { case active, passive, hot, critical, assumed }

  var kind: Kind
  var celsius: Double
  var fair: Double?
  var serious: Double?
  var critical: Double?

  func state(at celsius: Double) -> ThermalState {
    func reaches(_ limit: Double?) -> Bool { limit.map { celsius >= $0 } ?? false }
    if reaches(critical) { return .critical }
    if reaches(serious) { return .serious }
    return reaches(fair) ? .fair : .nominal
  }
}

/// A place in the host that has a thermometer, and limits.
struct ThermalZone: Hashable {
  var name: String
  /// Where its temperature is read.
  var file: String
  var trips: [ThermalTrip]

  /// Nil for a zone that says nothing of the host's state: disabled, or without a trip that makes sense. Wireless cards
  /// have trips of their own making (`iwlwifi`), and are not the host.
  init?(in folder: String, of root: SystemRoot, _ settings: ThermalSettings) {
    let type = root.string("\(folder)/type") ?? ""
    guard root.string("\(folder)/mode") != "disabled", !type.hasPrefix("iwlwifi") else { return nil }
    name = type.isEmpty ? String(folder.split(separator: "/").last ?? "") : type
    file = "\(folder)/temp"
    // Those of the processor package are thresholds that a program is to be told of (intel/x86_pkg_temp_thermal).
    let found = Self.trips(in: folder, of: root).filter { type != "x86_pkg_temp" || $0.kind != .passive }
    trips = found.isEmpty && Self.isProcessor(type) ? [(.assumed, settings.assumedCritical)].map(settings.trip) : []
    trips += settings.trips(found)
    if trips.isEmpty { return nil }
  }

  private static func isProcessor(_ type: String) -> Bool {
    type == "x86_pkg_temp" || type == "TCPU" || type.lowercased().hasPrefix("cpu") || type.lowercased().hasPrefix("soc")
  }

  /// Trips at zero or below are switched off; those outside 30 to 150 °C make no sense (Surface: 240).
  private static func trips(in folder: String, of root: SystemRoot) -> [(kind: ThermalTrip.Kind, celsius: Double)] {
    let names = root.names(in: folder).filter { $0.hasPrefix("trip_point_") && $0.hasSuffix("_type") }
    return names.compactMap { name in
      let temperature = root.number("\(folder)/\(name.dropLast(4))temp")
      guard let kind = root.string("\(folder)/\(name)").flatMap(ThermalTrip.Kind.init), kind != .assumed,
        let temperature, (30_000...150_000).contains(temperature)
      else { return nil }
      return (kind, Double(temperature) / 1000)
    }
  }

  /// Nil if it cannot be read, or is no temperature of a running host: outside -40 to 200 °C.
  func celsius(_ root: SystemRoot) -> Double? {
    guard let temperature = root.number(file), (-40_000...200_000).contains(temperature) else { return nil }
    return Double(temperature) / 1000
  }

  /// The worst that any trip says, and by which; of equals the nearest.
  func state(at celsius: Double) -> (state: ThermalState, trip: ThermalTrip) {
    let states = trips.map { (state: $0.state(at: celsius), trip: $0) }
    return states.max { ($0.state.rawValue, -$0.trip.celsius) < ($1.state.rawValue, -$1.trip.celsius) }
      ?? (.nominal, ThermalTrip(kind: .assumed, celsius: 0))
  }
}

extension ThermalSettings {
  /// What the trips of one zone mean together.
  ///
  /// `critical` is where the kernel shuts down. At `hot` firmware wants the host asleep: one state earlier. At the
  /// highest `passive` trip the processor is slowed down, which is `serious`; lower ones prepare for it. At the highest
  /// `active` trip the fans run as fast as they can, which is Apple's `fair`; lower ones are everyday life.
  fileprivate func trips(_ found: [(kind: ThermalTrip.Kind, celsius: Double)]) -> [ThermalTrip] {
    let passive = found.filter { $0.kind == .passive }.map(\.celsius)
    let active = found.filter { $0.kind == .active && $0.celsius >= activeFloor }.map(\.celsius).max()
    var trips = found.filter { $0.kind == .critical || $0.kind == .hot }.map(trip)
    if let highest = passive.max(), let lowest = passive.min() {
      trips.append(
        ThermalTrip(kind: .passive, celsius: highest, fair: min(lowest, highest - criticalMargin), serious: highest))
    }
    if let active { trips.append(ThermalTrip(kind: .active, celsius: active, fair: active)) }
    return trips
  }

  fileprivate func trip(_ kind: ThermalTrip.Kind, _ celsius: Double) -> ThermalTrip {
    let isHot = kind == .hot
    return ThermalTrip(
      kind: kind, celsius: celsius, fair: celsius - (isHot ? seriousMargin : fairMargin),
      serious: celsius - (isHot ? criticalMargin : seriousMargin), critical: celsius - (isHot ? 0 : criticalMargin))
  }
}
