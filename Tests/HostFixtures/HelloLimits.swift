package import BatonModel
package import BatonWire

/// Hellos that have as much as a limit of the table (`WireLimits`) allows, or more.
package enum HelloLimits {
  /// The limits on what a hello contains.
  package static let all = [
    WireLimits.hostName, WireLimits.incarnation, WireLimits.version, WireLimits.secret, WireLimits.receipts,
    WireLimits.sandboxProblem, WireLimits.hello,
    WireLimits.runningLaunches, WireLimits.launchGPUs, WireLimits.slots, WireLimits.labels, WireLimits.labelName,
    WireLimits.labelValue, WireLimits.gpus, WireLimits.gpuText, WireLimits.owner,
  ]

  /// `hello` with `count` of the thing that `limit` bounds.
  package static func change(_ hello: Hello, _ count: Int, of limit: WireLimit) -> Hello {
    var hello = hello
    switch limit {
    case WireLimits.hostName: hello.host = HostName(text(count))
    case WireLimits.incarnation: hello.incarnation = Incarnation(text(count))
    case WireLimits.version: hello.version = text(count)
    case WireLimits.secret: hello.secret = [UInt8](repeating: 7, count: count)
    case WireLimits.receipts:
      hello.receipts = (0..<count).map { Receipt(store: "s\($0)", tenure: 1, sequence: 1) }
    case WireLimits.sandboxProblem: hello.capabilities.sandbox = HostSandbox(problem: text(count))
    case WireLimits.hello:
      hello.capabilities.handlers = patterns(count - bare - hello.version.utf8.count)
    case WireLimits.runningLaunches:
      hello.running = Array(repeating: RunningLaunch(launch: launch), count: count)
    case WireLimits.launchGPUs: hello.running = [RunningLaunch(launch: launch, gpus: Array(0..<count))]
    case WireLimits.slots: hello.capabilities.slots = count
    case WireLimits.labels: hello.conditions.labels.value = labels(count)
    case WireLimits.labelName: hello.conditions.labels.value = [text(count): ""]
    case WireLimits.labelValue: hello.conditions.labels.value = ["name": text(count)]
    case WireLimits.gpus: hello.conditions.gpus.value = gpus(count)
    case WireLimits.gpuText: hello.conditions.gpus.value = [GPU(id: "0", name: text(count), memoryBytes: 0)]
    case WireLimits.owner: hello.conditions.owner = .paused(by: text(count), until: nil)
    default: preconditionFailure("no hello has \(limit.name)")
    }
    return hello
  }

  private static let launch = LaunchKey(request: RequestID(1), number: 1)

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  /// Identifiers that have `count` bytes together, at least 128.
  private static func patterns(_ count: Int) -> [IdentifierPattern] {
    let each = 64
    return (1...count / each).map { number in
      IdentifierPattern(trusted: text(number == 1 ? each + count % each : each))
    }
  }

  private static func gpus(_ count: Int) -> [GPU] {
    (0..<count).map { GPU(id: "\($0)", name: "gpu", memoryBytes: 1) }
  }

  private static func labels(_ count: Int) -> [String: String] {
    Dictionary((0..<count).map { ("label-\($0)", "value") }) { first, _ in first }
  }

  /// The bytes of all texts in a hello without handlers, except its version.
  private static let bare: Int = {
    let conditions = Conditions.assumed
    let texts = [
      conditions.power.source, conditions.power.raw, conditions.battery.source, conditions.battery.raw,
      conditions.lowPowerMode.source, conditions.lowPowerMode.raw, conditions.thermal.source, conditions.thermal.raw,
      conditions.network.source, conditions.network.raw, conditions.isIdle.source, conditions.isIdle.raw,
      conditions.gpus.source, conditions.gpus.raw, conditions.labels.source, conditions.labels.raw,
    ]
    return texts.reduce(0) { $0 + $1.utf8.count }
  }()
}
