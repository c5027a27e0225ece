/// When a host counts as hot: the keys below `thermal` in worker.yaml, with differences in °C. Each default is Baton's
/// own choice.
package struct ThermalSettings: Hashable, Sendable {
  /// The state is `fair` from this far below a critical trip, at which the kernel shuts down (`fairMargin`).
  package var fairMargin: Double
  /// The state is `serious` from this far below a critical trip (`seriousMargin`). Laptops under load run at about 10
  /// °C below the trip by design.
  package var seriousMargin: Double
  /// The state is `critical` from this far below a critical trip (`criticalMargin`).
  package var criticalMargin: Double
  /// A state ends when the temperature is this far below the point at which the state began (`hysteresis`).
  package var hysteresis: Double
  /// A trip that starts a fan is ignored if it is below this temperature, in °C (`activeFloor`).
  package var activeFloor: Double
  /// The critical trip of a processor that reports none, in °C (`assumedCritical`). Intel's limit is 100 to 110.
  package var assumedCritical: Double
  /// How long the state stays `serious` after the processor throttled (`throttleWindow`).
  package var throttleWindow: Duration
  /// How often zones and trips are looked up again. It has no key in worker.yaml.
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
