/// When a host counts as hot: differences in °C, under `thermal` in worker.yaml. Baton's own choice throughout.
package struct ThermalSettings: Hashable, Sendable {
  /// Below a critical trip, at which the kernel shuts down: from here on `fair` (`fairMargin`).
  package var fairMargin: Double
  /// The same for `serious` (`seriousMargin`). Laptops under load run at about 10 °C below by design.
  package var seriousMargin: Double
  /// The same for `critical` (`criticalMargin`).
  package var criticalMargin: Double
  /// So much cooler than where a state began, before it ends (`hysteresis`).
  package var hysteresis: Double
  /// Trips that start a fan say nothing below this, in °C (`activeFloor`).
  package var activeFloor: Double
  /// The critical trip of a processor that has none, in °C (`assumedCritical`): Intel's limit is 100 to 110.
  package var assumedCritical: Double
  /// How long `serious` lasts after the processor throttled (`throttleWindow`).
  package var throttleWindow: Duration
  /// How often zones and trips are looked up again (`rescanInterval`).
  package var rescanInterval: Duration

  package init(
    fairMargin: Double = 20, seriousMargin: Double = 10, criticalMargin: Double = 3, hysteresis: Double = 3,
    activeFloor: Double = 60, assumedCritical: Double = 105, throttleWindow: Duration = .seconds(10),
    rescanInterval: Duration = .seconds(60)
  ) {
    self.fairMargin = fairMargin
    self.seriousMargin = seriousMargin
    self.criticalMargin = criticalMargin
    self.hysteresis = hysteresis
    self.activeFloor = activeFloor
    self.assumedCritical = assumedCritical
    self.throttleWindow = throttleWindow
    self.rescanInterval = rescanInterval
  }
}
