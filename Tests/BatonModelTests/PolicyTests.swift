import BatonModel
import ContractRows
import Testing

/// A host that accepts every job, and a job without requirements. Each test changes what it is about.
enum Fixture {
  static func job(_ kind: JobKind = .continued, _ change: (inout Definition) -> Void = { _ in }) -> Definition {
    var definition = Definition(pattern: IdentifierPattern("com.example.a")!, kind: kind)
    definition.requirements.requiresIdle = false
    definition.work = Work(command: ["true"])
    change(&definition)
    return definition
  }

  static func host(_ change: (inout Host) -> Void = { _ in }) -> Host {
    var host = Host(name: HostName("h"), capabilities: Capabilities(slots: 4), conditions: .assumed)
    change(&host)
    return host
  }

  static func conditions(_ change: (inout Conditions) -> Void) -> Conditions {
    var conditions = Conditions.assumed
    change(&conditions)
    return conditions
  }
}

struct Placement: Sendable, CustomTestStringConvertible {
  var name: String
  var job = Fixture.job()
  var host = Fixture.host()
  var obstacles: [Obstacle]
  var testDescription: String { name }
}

@Suite struct PolicyTests {
  static func pattern(_ text: String) -> IdentifierPattern { IdentifierPattern(text)! }

  @Test(
    .contract(1.2, 3.2, 4.1),
    arguments: [
      Placement(name: "nothing is in the way", obstacles: []),
      Placement(
        name: "a host without a lease is gone", host: Fixture.host { $0.hasLease = false }, obstacles: [.hostGone]),
      Placement(
        name: "a host that is gone is judged by its last word",
        host: Fixture.host {
          ($0.hasLease, $0.isDraining, $0.conditions.owner) = (false, true, .paused(by: "alex", until: nil))
        }, obstacles: [.hostGone, .hostDraining, .hostPausedByOwner(until: nil)]),
      Placement(
        name: "of a host that never said what it can do nothing else is said",
        host: Fixture.host { ($0.hasLease, $0.isDraining, $0.capabilities.slots) = (false, true, 0) },
        obstacles: [.hostGone]),
      Placement(
        name: "an operator evicted the definition",
        host: Fixture.host { $0.evictions = [pattern("com.example.*")] }, obstacles: [.evicted]),
      Placement(
        name: "an operator evicted something else",
        host: Fixture.host { $0.evictions = [pattern("com.example.b"), pattern("org.*")] }, obstacles: []),
      Placement(
        name: "the host's own allowance is spent",
        host: Fixture.host { $0.allowanceRefillsAt = Timestamp(nanoseconds: 9) },
        obstacles: [.allowanceSpent(refillsAt: Timestamp(nanoseconds: 9))]),
      Placement(name: "draining", host: Fixture.host { $0.isDraining = true }, obstacles: [.hostDraining]),
      Placement(
        name: "its owner paused it", host: Fixture.host { $0.conditions.owner = .paused(by: "alex", until: nil) },
        obstacles: [.hostPausedByOwner(until: nil)]),
      Placement(
        name: "its owner lends it at other hours",
        host: Fixture.host { $0.conditions.owner = .outsideHours(until: Timestamp(nanoseconds: 9)) },
        obstacles: [.outsideHours(until: Timestamp(nanoseconds: 9))]),
      Placement(
        name: "a label is another, and one is missing",
        job: Fixture.job { $0.requirements.labels = ["zone": "garage", "disk": "fast"] },
        host: Fixture.host {
          $0.conditions.labels = Reading(["zone": "attic", "colour": "red"], source: "worker.yaml")
        },
        obstacles: [
          .missingLabel(name: "disk", wanted: "fast", found: nil),
          .missingLabel(name: "zone", wanted: "garage", found: "attic"),
        ]),
      Placement(
        name: "the labels say so", job: Fixture.job { $0.requirements.labels = ["zone": "garage"] },
        host: Fixture.host { $0.conditions.labels = Reading(["zone": "garage", "b": ""], source: "facts") },
        obstacles: []),
      Placement(
        name: "nobody knows the labels", job: Fixture.job { $0.requirements.labels = ["zone": "garage"] },
        host: Fixture.host { $0.conditions.labels = Reading(nil, source: "facts") },
        obstacles: [.missingLabel(name: "zone", wanted: "garage", found: nil)]),
      Placement(
        name: "its owner permits something else",
        host: Fixture.host {
          $0.capabilities.permittedIdentifiers = [pattern("com.example.b.*"), pattern("com.other")]
        },
        obstacles: [.notPermittedOnHost(.identifier)]),
      Placement(
        name: "its owner permits it by a wildcard",
        host: Fixture.host { $0.capabilities.permittedIdentifiers = [pattern("com.example.*")] }, obstacles: []),
      Placement(
        name: "the kind is not accepted", host: Fixture.host { $0.capabilities.kinds = [.refresh, .processing] },
        obstacles: [.kindNotAccepted(.continued)]),
      Placement(
        name: "no commands here", host: Fixture.host { $0.capabilities.runsCommands = false }, obstacles: [.noHandler]),
      Placement(name: "no handler", job: Fixture.job { $0.work = nil }, obstacles: [.noHandler]),
      Placement(
        name: "a handler for the identifier", job: Fixture.job { $0.work = nil },
        host: Fixture.host { $0.capabilities.handlers = [pattern("com.example.a")] }, obstacles: []),
      Placement(
        name: "a handler for all identifiers below", job: Fixture.job { $0.work = nil },
        host: Fixture.host { $0.capabilities.handlers = [pattern("com.*")] }, obstacles: []),
      Placement(
        name: "a handler is no command",
        host: Fixture.host {
          $0.capabilities.runsCommands = false
          $0.capabilities.handlers = [pattern("com.example.a")]
        }, obstacles: [.noHandler]),
      Placement(
        name: "a host that is too small", job: Fixture.job { $0.requirements.slots = 5 },
        host: Fixture.host { $0.usedSlots = 1 }, obstacles: [.tooFewSlots(needed: 5, total: 4)]),
      Placement(
        name: "slots in use", job: Fixture.job { $0.requirements.slots = 2 }, host: Fixture.host { $0.usedSlots = 3 },
        obstacles: [.slotsInUse(needed: 2, free: 1)]),
      Placement(
        name: "the last slots", job: Fixture.job { $0.requirements.slots = 2 }, host: Fixture.host { $0.usedSlots = 2 },
        obstacles: []),
      Placement(
        name: "more in use than there are", host: Fixture.host { $0.usedSlots = 9 },
        obstacles: [.slotsInUse(needed: 1, free: 0)]),
    ])
  func `each obstacle of a host's standing and its slots`(placement: Placement) {
    #expect(Policy.obstacles(for: placement.job, on: placement.host) == placement.obstacles)
  }

  static let gpus = Reading([GPU(name: "small", memoryBytes: 8), GPU(name: "big", memoryBytes: 80)], source: "test")

  @Test(
    .contract(20.1),
    arguments: [
      (GPURequirement(), [GPU](), [Int](), [Obstacle.hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0)]),
      (GPURequirement(), gpus.value!, [], []),
      (GPURequirement(count: 2), gpus.value!, [], []),
      (GPURequirement(count: 3), gpus.value!, [], [.hostHasNoGPU(needed: GPURequirement(count: 3), suitable: 2)]),
      (GPURequirement(memoryBytes: 80), gpus.value!, [], []),
      (
        GPURequirement(memoryBytes: 81), gpus.value!, [],
        [.hostHasNoGPU(needed: GPURequirement(memoryBytes: 81), suitable: 0)]
      ),
      (
        GPURequirement(count: 2, memoryBytes: 9), gpus.value!, [],
        [.hostHasNoGPU(needed: GPURequirement(count: 2, memoryBytes: 9), suitable: 1)]
      ),
      (GPURequirement(), gpus.value!, [0], []),
      (GPURequirement(), gpus.value!, [0, 1], [.gpusInUse(needed: GPURequirement(), free: 0)]),
      (GPURequirement(memoryBytes: 9), gpus.value!, [1], [.gpusInUse(needed: GPURequirement(memoryBytes: 9), free: 0)]),
      (GPURequirement(memoryBytes: 9), gpus.value!, [0], []),
    ])
  func `GPUs are counted by memory and by use`(
    need: GPURequirement, there: [GPU], used: [Int], obstacles: [Obstacle]
  ) {
    let job = Fixture.job { $0.requirements.gpu = need }
    let host = Fixture.host {
      $0.conditions.gpus = Reading(there, source: "test")
      $0.usedGPUs = used
    }
    #expect(Policy.obstacles(for: job, on: host) == obstacles)
  }

  @Test(
    arguments: [
      (
        Obstacle.hostHasNoGPU(needed: GPURequirement(memoryBytes: 8 << 30), suitable: 0),
        "it needs 1 GPU with 8 GiB, and the host has none"
      ),
      (.hostHasNoGPU(needed: GPURequirement(count: 2), suitable: 1), "it needs 2 GPUs, and the host has only 1"),
      (
        .noHostHasGPU(needed: GPURequirement(count: 2, memoryBytes: 10_000_000_000)),
        "it needs 2 GPUs with 10 GB each, and no connected host has enough"
      ),
      (.gpusInUse(needed: GPURequirement(), free: 0), "it needs 1 GPU, and the host has none free"),
      (
        .gpusInUse(needed: GPURequirement(count: 3, memoryBytes: 80_001), free: 2),
        "it needs 3 GPUs with 80001 bytes each, and the host has only 2 free"
      ),
    ])
  func `an obstacle of GPUs says how many and how large they have to be`(obstacle: Obstacle, text: String) {
    #expect(obstacle.text == text)
  }

  @Test func `unknown GPUs are none`() {
    let host = Fixture.host { $0.conditions.gpus = Reading(nil, source: "test") }
    #expect(
      Policy.obstacles(for: Fixture.job { $0.requirements.gpu = GPURequirement() }, on: host)
        == [.hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0)])
    #expect(Policy.obstacles(for: Fixture.job(), on: host) == [])
  }

  @Test func `all obstacles of a host are told at once`() {
    let job = Fixture.job(.processing) {
      $0.work = nil
      $0.requirements = Requirements(
        externalPower: true, network: .unmetered, gpu: GPURequirement(), requiresIdle: true, slots: 9)
    }
    let host = Fixture.host {
      $0.isDraining = true
      $0.capabilities = Capabilities(slots: 4, kinds: [], permittedIdentifiers: [Self.pattern("com.other")])
      $0.conditions = Conditions(
        power: Reading(.battery, source: ""), battery: Reading(19, source: ""), lowPowerMode: Reading(true, source: ""),
        thermal: Reading(.critical, source: ""), network: Reading(.metered, source: ""),
        isIdle: Reading(false, source: ""), gpus: Reading([], source: ""), owner: .paused(by: "alex", until: nil))
    }
    #expect(
      Policy.obstacles(for: job, on: host) == [
        .hostDraining, .hostPausedByOwner(until: nil), .notPermittedOnHost(.identifier), .kindNotAccepted(.processing),
        .noHandler,
        .needsExternalPower, .needsUnmeteredNetwork, .needsIdleHost, .batteryLow(percent: 19), .lowPowerMode,
        .tooHot(.critical), .tooFewSlots(needed: 9, total: 4),
        .hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0),
      ])
  }

  @Test func `only what waiting cannot mend is permanent`() {
    let permanent: [Obstacle] = [
      .notPermittedOnHost(.identifier), .kindNotAccepted(.refresh), .noHandler, .tooFewSlots(needed: 2, total: 1),
      .hostHasNoGPU(needed: GPURequirement(count: 1), suitable: 0),
    ]
    let passing: [Obstacle] = [
      .notBefore(.distantFuture), .rateLimited(until: .distantFuture), .backingOff(until: .distantFuture),
      .waitsForLiveRequest(number: 1), .maxRunningReached(limit: 1), .fleetPaused, .noHosts, .hostGone, .hostDraining,
      .hostPausedByOwner(until: nil), .slotsInUse(needed: 1, free: 0), .needsExternalPower, .needsNetwork,
      .needsUnmeteredNetwork,
      .needsIdleHost, .batteryLow(percent: 1), .lowPowerMode, .tooHot(.fair),
      .gpusInUse(needed: GPURequirement(), free: 0),
    ]
    #expect(permanent.filter { !$0.isPermanent } == [])
    #expect(passing.filter { $0.isPermanent } == [])
    let all = permanent + passing
    #expect(Set(all.map(\.code)).count == all.count, "each has a code of its own")
    #expect(all.filter { $0.text.isEmpty || $0.remedy.isEmpty } == [])
  }
}
