import BatonHost
import BatonModel
import BatonProcess
import BatonSettings

/// The keys of worker.yaml that configure how conditions are read.
extension WorkerSettings {
  package static let conditionKeys = [
    "facts.command", "facts.every", "gpu.interval", "gpu.keep", "idle.after", "idle.cpuPressure", "idle.ignore",
    "idle.ioPressure", "idle.loadCalm", "idle.loadWindow", "idle.memoryPressure", "idle.otherLoad",
    "idle.readInputDevices", "labels", "network.lostAfter", "network.metered",
    "network.reachability.every", "network.reachability.failures", "network.reachability.patience",
    "network.reachability.target", "network.requireDefaultRoute", "network.unmetered", "power.fullMargin", "probes",
    "returnAfter.battery",
    "returnAfter.gpu", "returnAfter.lowPowerMode", "returnAfter.network", "returnAfter.power", "returnAfter.thermal",
    "systemRoot", "thermal.activeFloor", "thermal.assumedCritical", "thermal.criticalMargin", "thermal.fairMargin",
    "thermal.hysteresis", "thermal.seriousMargin", "thermal.throttleWindow", "treatUnknownAs.idle",
    "treatUnknownAs.network", "treatUnknownAs.power", "treatUnknownAs.thermal", "ups",
  ]

  /// Reads the settings of conditions. A key that is missing or has a wrong value keeps its default; a wrong value is
  /// noted in `settings`.
  static func conditions(_ settings: Settings) -> ConditionSettings {
    var conditions = ConditionSettings()
    if let probes = probes(settings) { conditions.probes = probes }
    if let root = settings.text("systemRoot") { conditions.root = SystemRoot(root) }
    set(&conditions.fullMargin, settings.number("power.fullMargin", in: 0...100))
    conditions.treatUnknownAs = unknown(settings)
    conditions.returnAfter = delays(settings)
    conditions.ups = ups(settings)
    conditions.thermal = thermal(settings)
    conditions.network = network(settings)
    set(&conditions.networkLostAfter, settings.duration("network.lostAfter"))
    conditions.idle = idle(settings)
    conditions.gpu = gpu(settings)
    conditions.labels = labels(settings)
    conditions.facts = facts(settings)
    return conditions
  }

  private static func set<Value>(_ place: inout Value, _ value: Value?) {
    if let value { place = value }
  }

  private static func probes(_ settings: Settings) -> Set<ConditionSettings.Probe>? {
    guard let names = settings.list("probes") else { return nil }
    if names == ["none"] { return [] }
    return Set(
      names.compactMap { name in
        let probe = ConditionSettings.Probe(rawValue: name)
        if probe == nil {
          let known = ConditionSettings.Probe.allCases.map(\.rawValue).joined(separator: ", ")
          settings.note("probes", "'\(name)' is not a probe; use \(known), or none alone")
        }
        return probe
      })
  }

  private static func unknown(_ settings: Settings) -> UnknownTreatment {
    var unknown = UnknownTreatment()
    set(&unknown.power, settings.choice("treatUnknownAs.power", PowerSource.self))
    set(&unknown.network, settings.choice("treatUnknownAs.network", NetworkState.self))
    set(&unknown.idle, settings.choice("treatUnknownAs.idle", UnknownTreatment.Idle.self))
    if let name = settings.text("treatUnknownAs.thermal") {
      if let state = ThermalState(name: name) {
        unknown.thermal = state
      } else {
        let known = ThermalState.allCases.map(\.name).joined(separator: ", ")
        settings.note("treatUnknownAs.thermal", "must be one of \(known), not '\(name)'")
      }
    }
    return unknown
  }

  private static func delays(_ settings: Settings) -> ReturnDelays {
    var delays = ReturnDelays()
    set(&delays.power, settings.duration("returnAfter.power"))
    set(&delays.battery, settings.duration("returnAfter.battery"))
    set(&delays.lowPowerMode, settings.duration("returnAfter.lowPowerMode"))
    set(&delays.thermal, settings.duration("returnAfter.thermal"))
    set(&delays.network, settings.duration("returnAfter.network"))
    set(&delays.gpu, settings.duration("returnAfter.gpu"))
    return delays
  }

  private static func ups(_ settings: Settings) -> UPSSettings {
    switch settings.list("ups") {
    case nil, ["auto"]?: return UPSSettings()
    case ["none"]?, []?: return UPSSettings(watched: .none)
    case let names?:
      for name in names where name.hasPrefix("-") || name.contains(where: \.isWhitespace) {
        settings.note("ups", "'\(name)' is not the name of a UPS: write NAME@HOST:PORT, or auto, or none")
      }
      return UPSSettings(watched: .named(names))
    }
  }

  private static func thermal(_ settings: Settings) -> ThermalSettings {
    var thermal = ThermalSettings()
    set(&thermal.fairMargin, degrees("thermal.fairMargin", settings))
    set(&thermal.seriousMargin, degrees("thermal.seriousMargin", settings))
    set(&thermal.criticalMargin, degrees("thermal.criticalMargin", settings))
    set(&thermal.hysteresis, degrees("thermal.hysteresis", settings))
    set(&thermal.activeFloor, degrees("thermal.activeFloor", settings))
    set(&thermal.assumedCritical, degrees("thermal.assumedCritical", settings))
    set(&thermal.throttleWindow, settings.duration("thermal.throttleWindow"))
    return thermal
  }

  private static func degrees(_ key: String, _ settings: Settings) -> Double? {
    settings.number(key, in: 0...200).map(Double.init)
  }

  private static func network(_ settings: Settings) -> NetworkSettings {
    var network = NetworkSettings()
    set(&network.metered, settings.list("network.metered"))
    set(&network.unmetered, settings.list("network.unmetered"))
    set(&network.requireDefaultRoute, settings.flag("network.requireDefaultRoute"))
    guard let target = settings.text("network.reachability.target") else {
      for key in ["every", "failures", "patience"].map({ "network.reachability.\($0)" }) where settings.list(key) != nil
      {
        settings.note(key, "has no effect without 'network.reachability.target'")
      }
      return network
    }
    if ReachabilitySettings.parse(target) == nil {
      settings.note("network.reachability.target", "must be HOST:PORT, not '\(target)'")
    }
    var reachability = ReachabilitySettings(target: target)
    set(&reachability.every, settings.duration("network.reachability.every"))
    set(&reachability.patience, settings.duration("network.reachability.patience"))
    set(&reachability.failures, settings.number("network.reachability.failures", in: 1...100))
    network.reachability = reachability
    return network
  }

  private static func idle(_ settings: Settings) -> IdleSettings {
    var idle = IdleSettings()
    set(&idle.after, settings.duration("idle.after"))
    set(&idle.otherLoad, settings.number("idle.otherLoad", in: 1...100))
    set(&idle.loadWindow, settings.duration("idle.loadWindow"))
    if idle.loadWindow < .seconds(1) { settings.note("idle.loadWindow", "must be 1s or more") }
    set(&idle.loadCalm, settings.duration("idle.loadCalm"))
    set(&idle.memoryPressure, settings.number("idle.memoryPressure", in: 1...100))
    set(&idle.ioPressure, settings.number("idle.ioPressure", in: 1...100))
    set(&idle.cpuPressure, settings.number("idle.cpuPressure", in: 1...100))
    set(&idle.readsInputDevices, settings.flag("idle.readInputDevices"))
    set(&idle.ignored, ignored(settings))
    return idle
  }

  private static func ignored(_ settings: Settings) -> Set<IdleSettings.Source>? {
    guard let names = settings.list("idle.ignore") else { return nil }
    return Set(
      names.compactMap { name in
        let source = IdleSettings.Source(rawValue: name)
        if source == nil {
          let known = IdleSettings.Source.allCases.map(\.rawValue).joined(separator: ", ")
          settings.note("idle.ignore", "'\(name)' must be one of \(known)")
        }
        return source
      })
  }

  private static func gpu(_ settings: Settings) -> GPUSettings {
    var gpu = GPUSettings()
    set(&gpu.interval, settings.duration("gpu.interval"))
    set(&gpu.keep, settings.duration("gpu.keep"))
    return gpu
  }

  private static func labels(_ settings: Settings) -> [String: String] {
    let labels = settings.mapping("labels") ?? [:]
    if labels.count > Label.maximumCount {
      settings.note("labels", "there are \(labels.count); at most \(Label.maximumCount) are allowed")
    }
    for (name, value) in labels.sorted(by: { $0.key < $1.key }) {
      if !Label.isName(name) {
        settings.note("labels", "'\(name)' cannot be a label: letters, digits, '-', '_' and '.', at most 63")
      }
      if !Label.isValue(value) { settings.note("labels", "'\(name)' must be one line of at most 255 bytes") }
    }
    return labels
  }

  private static func facts(_ settings: Settings) -> FactsSettings? {
    guard let command = settings.list("facts.command"), command.first?.isEmpty == false else {
      if let every = settings.text("facts.every") {
        settings.note("facts.every", "'\(every)' has no effect without 'facts.command'")
      }
      return nil
    }
    var facts = FactsSettings(command: command)
    set(&facts.every, settings.duration("facts.every"))
    if facts.every < .seconds(1) { settings.note("facts.every", "must be 1s or more") }
    return facts
  }
}
