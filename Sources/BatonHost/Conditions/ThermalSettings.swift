/// When a host counts as hot: the keys below `thermal` in worker.yaml, with differences in °C. Each default is Baton's
/// own choice.
public struct ThermalSettings: Hashable, Sendable {
  /// The state is `fair` from this far below a critical trip, at which the kernel shuts down (`fairMargin`); by default
  /// 20.
  public var fairMargin: Double
  /// The state is `serious` from this far below a critical trip (`seriousMargin`); by default 10. Laptops under load
  /// run at about 10 °C below the trip by design.
  public var seriousMargin: Double
  /// The state is `critical` from this far below a critical trip (`criticalMargin`); by default 3.
  public var criticalMargin: Double
  /// A state ends when the temperature is this far below the point at which the state began (`hysteresis`); by default
  /// 3.
  public var hysteresis: Double
  /// A trip that starts a fan is ignored if it is below this temperature, in °C (`activeFloor`); by default 60.
  public var activeFloor: Double
  /// The critical trip of a processor that reports none, in °C (`assumedCritical`); by default 105. Intel's limit is
  /// 100 to 110.
  public var assumedCritical: Double
  /// How long the state stays `serious` after the processor throttled (`throttleWindow`); by default 10 s.
  public var throttleWindow: Duration
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

  /// Creates the default settings.
  public init() { self.init(fairMargin: 20) }
}
