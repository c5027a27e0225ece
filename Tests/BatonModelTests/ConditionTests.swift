import BatonModel
import ContractRows
import Testing

/// The conditions of a host, with the obstacle that keeps a new launch of `job` away from it, and the expiry of a
/// running one.
struct Weather: Sendable, CustomTestStringConvertible {
  var name: String
  var job: Definition
  var conditions: Conditions
  var obstacle: Obstacle?
  var expiry: ExpiryReason?
  var testDescription: String { name }

  init(
    _ name: String, _ job: Definition, _ obstacle: Obstacle?, _ expiry: ExpiryReason?,
    _ change: (inout Conditions) -> Void
  ) {
    (self.name, self.job, self.obstacle, self.expiry) = (name, job, obstacle, expiry)
    conditions = Fixture.conditions(change)
  }
}

/// Rows 18 to 24 of the contract.
@Suite struct ConditionTests {
  static let powered = Fixture.job { $0.requirements.externalPower = true }
  static let online = Fixture.job { $0.requirements.network = .any }
  static let unmetered = Fixture.job { $0.requirements.network = .unmetered }
  static let idle = Fixture.job { $0.requirements.requiresIdle = true }

  @Test(
    .contract(11.1, 18.1, 19.1),
    arguments: [
      Weather("needs power, on battery", powered, .needsExternalPower, .powerLost) { $0.power.value = .battery },
      Weather("needs power, plugged in", powered, nil, nil) { $0.power.value = .external },
      Weather("needs power, unknown", powered, nil, nil) { $0.power.value = nil },
      Weather("needs no power, on battery", Fixture.job(), nil, nil) { $0.power.value = .battery },
      Weather("needs a network, none", online, .needsNetwork, .networkLost) { $0.network.value = .unavailable },
      Weather("needs a network, metered", online, nil, nil) { $0.network.value = .metered },
      Weather("needs a network, unknown", online, nil, nil) { $0.network.value = nil },
      Weather("needs unmetered, none", unmetered, .needsNetwork, .networkLost) { $0.network.value = .unavailable },
      Weather("needs unmetered, metered", unmetered, .needsUnmeteredNetwork, .networkLost) {
        $0.network.value = .metered
      },
      Weather("needs unmetered, unmetered", unmetered, nil, nil) { $0.network.value = .unmetered },
      Weather("needs unmetered, unknown", unmetered, nil, nil) { $0.network.value = nil },
      Weather("needs no network, none", Fixture.job(), nil, nil) { $0.network.value = .unavailable },
      Weather("needs an idle host, in use", idle, .needsIdleHost, .hostBusy) { $0.isIdle.value = false },
      Weather("needs an idle host, idle", idle, nil, nil) { $0.isIdle.value = true },
      Weather("needs an idle host, unknown", idle, nil, nil) { $0.isIdle.value = nil },
      Weather("needs no idle host, in use", Fixture.job(), nil, nil) { $0.isIdle.value = false },
    ])
  func `what a job requires`(weather: Weather) { check(weather) }

  @Test(.contract(22.1, 22.2), arguments: JobKind.allCases, [nil, 0, 19, 20, 21, 100] as [Int?])
  func `below 20 per cent on battery discretionary work pauses`(kind: JobKind, percent: Int?) {
    for power in [PowerSource.battery, .external, nil] {
      let isLow = power == .battery && percent.map { $0 < 20 } ?? false && kind != .continued
      check(
        Weather(
          "\(kind) at \(percent ?? -1) on \(power.map(\.rawValue) ?? "unknown")", Fixture.job(kind),
          isLow ? .batteryLow(percent: percent!) : nil, isLow ? .batteryLow : nil
        ) { ($0.battery.value, $0.power.value) = (percent, power) })
    }
  }

  @Test(.contract(23.1, 23.2), arguments: JobKind.allCases, [true, false, nil])
  func `in low power mode only continued work goes on`(kind: JobKind, isOn: Bool?) {
    let stops = isOn == true && kind != .continued
    check(
      Weather("low power mode", Fixture.job(kind), stops ? .lowPowerMode : nil, stops ? .lowPowerMode : nil) {
        $0.lowPowerMode.value = isOn
      })
  }

  @Test(
    .contract(24.1, 24.2, 24.3),
    arguments: [
      (JobKind.refresh, ThermalState.nominal, false, false), (.refresh, .fair, false, false),
      (.refresh, .serious, true, true), (.refresh, .critical, true, true),
      (.processing, .nominal, false, false), (.processing, .fair, true, false),
      (.processing, .serious, true, true), (.processing, .critical, true, true),
      (.continued, .nominal, false, false), (.continued, .fair, false, false),
      (.continued, .serious, false, false), (.continued, .critical, true, true),
    ])
  func `heat stops processing first and continued work last`(
    kind: JobKind, state: ThermalState, isKeptAway: Bool, isExpired: Bool
  ) {
    check(
      Weather("heat", Fixture.job(kind), isKeptAway ? .tooHot(state) : nil, isExpired ? .thermal : nil) {
        $0.thermal.value = state
      })
  }

  @Test(arguments: JobKind.allCases)
  func `an unknown temperature is nominal`(kind: JobKind) {
    check(Weather("unknown", Fixture.job(kind), nil, nil) { $0.thermal.value = nil })
  }

  @Test(arguments: JobKind.allCases)
  func `on a host that its owner paused nothing runs`(kind: JobKind) {
    check(
      Weather("paused", Fixture.job(kind), .hostPausedByOwner(until: nil), .pausedByOwner) {
        $0.owner = .paused(by: "alex", until: nil)
      })
  }

  @Test(arguments: JobKind.allCases)
  func `outside the hours of its owner nothing runs`(kind: JobKind) {
    let opening = Timestamp(nanoseconds: 9)
    check(
      Weather("hours", Fixture.job(kind), .outsideHours(until: opening), .outsideHours) {
        $0.owner = .outsideHours(until: opening)
      })
  }

  @Test func `a label that a facts command takes back expires the launch`() {
    let job = Fixture.job { $0.requirements.labels = ["zone": "garage"] }
    check(
      Weather("labels", job, .missingLabel(name: "zone", wanted: "garage", found: nil), .labelLost) {
        $0.labels = Reading([:], source: "facts")
      })
  }

  @Test func `a GPU that is gone expires the launch, one that nobody can see at the moment does not`() {
    let job = Fixture.job { $0.requirements.gpu = GPURequirement() }
    var gpu = GPU(id: "GPU-1", name: "A", memoryBytes: 1 << 30)
    #expect(Policy.expiry(of: job, under: Fixture.conditions { $0.gpus = Reading([gpu], source: "") }) == nil)
    #expect(Policy.expiry(of: job, under: Fixture.conditions { $0.gpus = Reading(nil, source: "") }) == nil)
    gpu.isPresent = false
    let without = Fixture.conditions { $0.gpus = Reading([gpu], source: "") }
    #expect(Policy.expiry(of: job, under: without) == .gpuLost)
    let host = Fixture.host { $0.conditions = without }
    #expect(Policy.obstacles(for: job, on: host) == [.hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0)])
  }

  @Test(.contract(21.3), arguments: JobKind.allCases)
  func `a host of which nothing is known takes everything`(kind: JobKind) {
    let job = Fixture.job(kind) {
      $0.requirements = Requirements(externalPower: true, network: .unmetered, requiresIdle: true)
    }
    check(
      Weather("unknown", job, nil, nil) {
        ($0.power.value, $0.battery.value, $0.lowPowerMode.value, $0.thermal.value) = (nil, nil, nil, nil)
        ($0.network.value, $0.isIdle.value, $0.gpus.value) = (nil, nil, nil)
      })
  }

  @Test func `of several conditions the owner's word comes first, then the order of the obstacles`() {
    let job = Fixture.job(.processing) {
      $0.requirements = Requirements(externalPower: true, network: .any, requiresIdle: true)
    }
    var conditions = Conditions.assumed
    var reasons: [ExpiryReason?] = []
    let changes: [(inout Conditions) -> Void] = [
      { $0.thermal.value = .critical }, { $0.lowPowerMode.value = true },
      { ($0.battery.value, $0.power.value) = (5, .battery) }, { $0.isIdle.value = false },
      { $0.network.value = .unavailable }, { $0.owner = .paused(by: "alex", until: nil) },
    ]
    for change in changes {
      change(&conditions)
      reasons.append(Policy.expiry(of: job, under: conditions))
    }
    #expect(reasons == [.thermal, .lowPowerMode, .powerLost, .powerLost, .powerLost, .pausedByOwner])
    conditions.power.value = .external
    conditions.owner = .accepting
    #expect(Policy.expiry(of: job, under: conditions) == .networkLost)
    conditions.network.value = .metered
    #expect(Policy.expiry(of: job, under: conditions) == .hostBusy)
  }

  @Test func `standing and capacity end no running launch`() {
    let job = Fixture.job {
      $0.work = nil
      $0.requirements.slots = 99
      $0.requirements.gpu = GPURequirement(count: 1)
    }
    let conditions = Fixture.conditions { $0.gpus = Reading([GPU(name: "A", memoryBytes: 1)], source: "test") }
    #expect(Policy.expiry(of: job, under: conditions) == nil)
  }

  private func check(_ weather: Weather) {
    let host = Fixture.host { $0.conditions = weather.conditions }
    #expect(
      Policy.obstacles(for: weather.job, on: host) == (weather.obstacle.map { [$0] } ?? []), "\(weather.name)")
    #expect(Policy.expiry(of: weather.job, under: weather.conditions) == weather.expiry, "\(weather.name)")
  }
}
