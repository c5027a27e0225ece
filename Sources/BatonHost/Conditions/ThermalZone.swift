import BatonModel
import BatonProcess

/// A trip of a zone, and the temperatures from which on it means each state, in °C. A state without a temperature is
/// never reached.
struct ThermalTrip: Hashable {
  /// The kernel's names (Documentation/driver-api/thermal/sysfs-api.rst), and `assumed` for a trip that Baton adds
  /// where the kernel has none.
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

/// A part of the host with a thermometer and temperature limits.
struct ThermalZone: Hashable {
  var name: String
  /// The file with the temperature.
  var file: String
  var trips: [ThermalTrip]

  /// - Returns: `nil` for a zone that tells nothing about the host: it is disabled, has no sensible trip, or belongs to
  ///   a wireless card (`iwlwifi`), whose trips do not concern the host.
  init?(in folder: String, of root: SystemRoot, _ settings: ThermalSettings) {
    let type = root.string("\(folder)/type") ?? ""
    guard root.string("\(folder)/mode") != "disabled", !type.hasPrefix("iwlwifi") else { return nil }
    name = type.isEmpty ? String(folder.split(separator: "/").last ?? "") : type
    file = "\(folder)/temp"
    // The passive trips of the processor package are only thresholds at which a program is notified
    // (intel/x86_pkg_temp_thermal).
    let found = Self.trips(in: folder, of: root).filter { type != "x86_pkg_temp" || $0.kind != .passive }
    trips = found.isEmpty && Self.isProcessor(type) ? [(.assumed, settings.assumedCritical)].map(settings.trip) : []
    trips += settings.trips(found)
    if trips.isEmpty { return nil }
  }

  private static func isProcessor(_ type: String) -> Bool {
    type == "x86_pkg_temp" || type == "TCPU" || type.lowercased().hasPrefix("cpu") || type.lowercased().hasPrefix("soc")
  }

  /// The trips between 30 and 150 °C. Trips at zero or below are switched off, and higher ones make no sense (Surface:
  /// 240).
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

  /// The temperature in °C. `nil` if it cannot be read, or is outside -40 to 200 °C, which no running host has.
  func celsius(_ root: SystemRoot) -> Double? {
    guard let temperature = root.number(file), (-40_000...200_000).contains(temperature) else { return nil }
    return Double(temperature) / 1000
  }

  /// The worst state of all trips, and the trip that causes it. Of several such trips, the one with the lowest
  /// temperature.
  func state(at celsius: Double) -> (state: ThermalState, trip: ThermalTrip) {
    let states = trips.map { (state: $0.state(at: celsius), trip: $0) }
    return states.max { ($0.state.rawValue, -$0.trip.celsius) < ($1.state.rawValue, -$1.trip.celsius) }
      ?? (.nominal, ThermalTrip(kind: .assumed, celsius: 0))
  }
}

extension ThermalSettings {
  /// Computes the states that the trips of one zone mean together.
  ///
  /// At a `critical` trip the kernel shuts down. At a `hot` trip firmware wants the host to sleep: at the same distance
  /// from the trip, the state is one step milder than for a `critical` trip. At the highest `passive` trip the
  /// processor is slowed down, which is `serious`; the lowest passive trip is `fair`, because it prepares for this. At
  /// the highest `active` trip the fans run as fast as they can, which is Apple's `fair`; lower active trips are normal
  /// operation.
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
