import BatonModel
import BatonSettings
import BatonWorker

/// The keys of worker.yaml about conditions.
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

  /// How the host is read. Without a key its default holds.
  static func conditions(_ settings: Settings) throws -> ConditionSettings {
    var conditions = ConditionSettings()
    if let probes = try probes(settings) { conditions.probes = probes }
    if let root = settings.text("systemRoot") { conditions.root = SystemRoot(root) }
    try set(&conditions.fullMargin, settings.number("power.fullMargin", in: 0...100))
    conditions.treatUnknownAs = try unknown(settings)
    conditions.returnAfter = try delays(settings)
    conditions.ups = try ups(settings)
    conditions.thermal = try thermal(settings)
    conditions.network = try network(settings)
    try set(&conditions.networkLostAfter, settings.duration("network.lostAfter"))
    conditions.idle = try idle(settings)
    conditions.gpu = try gpu(settings)
    conditions.labels = try labels(settings)
    conditions.facts = try facts(settings)
    return conditions
  }

  private static func set<Value>(_ place: inout Value, _ value: Value?) {
    if let value { place = value }
  }

  private static func probes(_ settings: Settings) throws -> Set<ConditionSettings.Probe>? {
    guard let names = settings.list("probes") else { return nil }
    if names == ["none"] { return [] }
    return Set(
      try names.map { name in
        guard let probe = ConditionSettings.Probe(rawValue: name) else {
          let known = ConditionSettings.Probe.allCases.map(\.rawValue).joined(separator: ", ")
          throw settings.mistake("probes", "'\(name)' is no probe: \(known), or none alone")
        }
        return probe
      })
  }

  private static func unknown(_ settings: Settings) throws -> UnknownTreatment {
    var unknown = UnknownTreatment()
    set(&unknown.power, try settings.choice("treatUnknownAs.power", PowerSource.self))
    set(&unknown.network, try settings.choice("treatUnknownAs.network", NetworkState.self))
    set(&unknown.idle, try settings.choice("treatUnknownAs.idle", UnknownTreatment.Idle.self))
    if let name = settings.text("treatUnknownAs.thermal") {
      guard let state = ThermalState(name: name) else {
        let known = ThermalState.allCases.map(\.name).joined(separator: ", ")
        throw settings.mistake("treatUnknownAs.thermal", "must be one of \(known), not '\(name)'")
      }
      unknown.thermal = state
    }
    return unknown
  }

  private static func delays(_ settings: Settings) throws -> ReturnDelays {
    var delays = ReturnDelays()
    set(&delays.power, try settings.duration("returnAfter.power"))
    set(&delays.battery, try settings.duration("returnAfter.battery"))
    set(&delays.lowPowerMode, try settings.duration("returnAfter.lowPowerMode"))
    set(&delays.thermal, try settings.duration("returnAfter.thermal"))
    set(&delays.network, try settings.duration("returnAfter.network"))
    set(&delays.gpu, try settings.duration("returnAfter.gpu"))
    return delays
  }

  private static func ups(_ settings: Settings) throws -> UPSSettings {
    switch settings.list("ups") {
    case nil, ["auto"]?: return UPSSettings()
    case ["none"]?, []?: return UPSSettings(watched: .none)
    case let names?:
      for name in names where name.hasPrefix("-") || name.contains(where: \.isWhitespace) {
        throw settings.mistake("ups", "'\(name)' is no UPS: write NAME@HOST:PORT, or auto, or none")
      }
      return UPSSettings(watched: .named(names))
    }
  }

  private static func thermal(_ settings: Settings) throws -> ThermalSettings {
    var thermal = ThermalSettings()
    set(&thermal.fairMargin, try degrees("thermal.fairMargin", settings))
    set(&thermal.seriousMargin, try degrees("thermal.seriousMargin", settings))
    set(&thermal.criticalMargin, try degrees("thermal.criticalMargin", settings))
    set(&thermal.hysteresis, try degrees("thermal.hysteresis", settings))
    set(&thermal.activeFloor, try degrees("thermal.activeFloor", settings))
    set(&thermal.assumedCritical, try degrees("thermal.assumedCritical", settings))
    set(&thermal.throttleWindow, try settings.duration("thermal.throttleWindow"))
    return thermal
  }

  private static func degrees(_ key: String, _ settings: Settings) throws -> Double? {
    try settings.number(key, in: 0...200).map(Double.init)
  }

  private static func network(_ settings: Settings) throws -> NetworkSettings {
    var network = NetworkSettings()
    set(&network.metered, settings.list("network.metered"))
    set(&network.unmetered, settings.list("network.unmetered"))
    set(&network.requireDefaultRoute, try settings.flag("network.requireDefaultRoute"))
    guard let target = settings.text("network.reachability.target") else {
      for key in ["every", "failures", "patience"].map({ "network.reachability.\($0)" }) where settings.list(key) != nil
      {
        throw settings.mistake(key, "is of no use without 'network.reachability.target'")
      }
      return network
    }
    guard ReachabilitySettings.parse(target) != nil else {
      throw settings.mistake("network.reachability.target", "must be HOST:PORT, not '\(target)'")
    }
    var reachability = ReachabilitySettings(target: target)
    set(&reachability.every, try settings.duration("network.reachability.every"))
    set(&reachability.patience, try settings.duration("network.reachability.patience"))
    set(&reachability.failures, try settings.number("network.reachability.failures", in: 1...100))
    network.reachability = reachability
    return network
  }

  private static func idle(_ settings: Settings) throws -> IdleSettings {
    var idle = IdleSettings()
    set(&idle.after, try settings.duration("idle.after"))
    set(&idle.otherLoad, try settings.number("idle.otherLoad", in: 1...100))
    set(&idle.loadWindow, try settings.duration("idle.loadWindow"))
    guard idle.loadWindow >= .seconds(1) else { throw settings.mistake("idle.loadWindow", "must be 1s or more") }
    set(&idle.loadCalm, try settings.duration("idle.loadCalm"))
    set(&idle.memoryPressure, try settings.number("idle.memoryPressure", in: 1...100))
    set(&idle.ioPressure, try settings.number("idle.ioPressure", in: 1...100))
    set(&idle.cpuPressure, try settings.number("idle.cpuPressure", in: 1...100))
    set(&idle.readsInputDevices, try settings.flag("idle.readInputDevices"))
    set(&idle.ignored, try ignored(settings))
    return idle
  }

  private static func ignored(_ settings: Settings) throws -> Set<IdleSettings.Source>? {
    guard let names = settings.list("idle.ignore") else { return nil }
    return Set(
      try names.map { name in
        guard let source = IdleSettings.Source(rawValue: name) else {
          let known = IdleSettings.Source.allCases.map(\.rawValue).joined(separator: ", ")
          throw settings.mistake("idle.ignore", "'\(name)' is none of \(known)")
        }
        return source
      })
  }

  private static func gpu(_ settings: Settings) throws -> GPUSettings {
    var gpu = GPUSettings()
    set(&gpu.interval, try settings.duration("gpu.interval"))
    set(&gpu.keep, try settings.duration("gpu.keep"))
    return gpu
  }

  private static func labels(_ settings: Settings) throws -> [String: String] {
    let labels = try settings.mapping("labels") ?? [:]
    guard labels.count <= Label.maximumCount else {
      throw settings.mistake("labels", "there are \(labels.count); at most \(Label.maximumCount) are taken")
    }
    for (name, value) in labels.sorted(by: { $0.key < $1.key }) {
      guard Label.isName(name) else {
        throw settings.mistake("labels", "'\(name)' cannot be a label: letters, digits, '-', '_' and '.', at most 63")
      }
      guard Label.isValue(value) else {
        throw settings.mistake("labels", "'\(name)' must be one line of at most 255 bytes")
      }
    }
    return labels
  }

  private static func facts(_ settings: Settings) throws -> FactsSettings? {
    guard let command = settings.list("facts.command"), command.first?.isEmpty == false else {
      if let every = settings.text("facts.every") {
        throw settings.mistake("facts.every", "'\(every)' is of no use without 'facts.command'")
      }
      return nil
    }
    var facts = FactsSettings(command: command)
    set(&facts.every, try settings.duration("facts.every"))
    guard facts.every >= .seconds(1) else { throw settings.mistake("facts.every", "must be 1s or more") }
    return facts
  }
}
