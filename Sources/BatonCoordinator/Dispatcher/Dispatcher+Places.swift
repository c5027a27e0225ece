import BatonModel

/// A host that may take a launch, and how well it suits. Of several offers the lowest is the best one: what others have
/// booked is taken last; then the job's preferred labels count most, then the GPUs, then the slots.
struct HostOffer: Comparable {
  var host: HostName
  /// Whether the launch would take something that another class has booked.
  var takesBooked: Bool
  /// The sum of the weights of the preferred labels that the host has.
  var preference: Int
  /// The memory of the GPUs that the launch would hold. For a launch without GPUs, 1 if the host has a free GPU.
  var gpuMemory: Int64
  /// How many GPUs of the host would stay free.
  var gpusLeft: Int
  /// The free slots; negative if the hosts with the most free slots go first.
  var slots: Int

  static func < (left: Self, right: Self) -> Bool {
    if left.takesBooked != right.takesBooked { return right.takesBooked }
    if left.preference != right.preference { return left.preference > right.preference }
    if left.gpuMemory != right.gpuMemory { return left.gpuMemory < right.gpuMemory }
    if left.gpusLeft != right.gpusLeft { return left.gpusLeft < right.gpusLeft }
    return left.slots != right.slots ? left.slots < right.slots : left.host < right.host
  }

  init(
    _ state: HostState, for needs: Requirements, _ requirementClass: RequirementClass, _ placement: Placement
  ) {
    let host = state.host
    self.host = host.name
    takesBooked =
      state.booking.map { $0.requirementClass != requirementClass && !state.keepsRoom(for: $0, after: needs) }
      ?? false
    preference = needs.preferredLabels == nil ? 0 : needs.preference(for: host.conditions.labels.value ?? [:])
    slots = placement == .pack ? host.freeSlots : -host.freeSlots
    let free = host.freeGPUs
    if let gpu = needs.gpu {
      let memory = host.conditions.gpus.value ?? []
      gpuMemory = host.bestGPUs(for: gpu).reduce(0) { $0 + memory[$1].memoryBytes }
      gpusLeft = free - gpu.count
    } else {
      (gpuMemory, gpusLeft) = (free > 0 ? 1 : 0, 0)
    }
  }
}

/// Offers of hosts, of which the best one is found quickly. It is a binary heap: one round of dispatching looks at each
/// host once, and sorts none that it does not use.
struct HostOffers {
  private var offers: [HostOffer]

  init(_ offers: [HostOffer]) {
    self.offers = offers
    for index in offers.indices.reversed() { sink(from: index) }
  }

  /// Takes the best offer out.
  mutating func popBest() -> HostOffer? {
    guard let best = offers.first else { return nil }
    let last = offers.removeLast()
    if !offers.isEmpty {
      offers[0] = last
      sink(from: 0)
    }
    return best
  }

  mutating func add(_ offer: HostOffer) {
    offers.append(offer)
    var index = offers.count - 1
    while index > 0, offers[index] < offers[(index - 1) / 2] {
      offers.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private mutating func sink(from start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < offers.count && offers[child] < offers[least] {
        least = child
      }
      if least == index { return }
      offers.swapAt(index, least)
      index = least
    }
  }
}

extension Dispatcher {
  /// The hosts of this coordinator that have a free slot, and how well they suit.
  mutating func offers(for definition: Definition, _ requirementClass: RequirementClass) -> HostOffers {
    var offers: [HostOffer] = []
    // The states are examined in place: copies would be most of the cost of a round in a large fleet.
    func add(_ state: inout HostState) {
      guard state.link == .attached, state.isGranted, state.host.freeSlots > 0 else { return }
      offers.append(HostOffer(state, for: definition.requirements, requirementClass, rules.placement))
    }
    var index = hosts.values.startIndex
    while index != hosts.values.endIndex {
      add(&hosts.values[index])
      hosts.values.formIndex(after: &index)
    }
    return HostOffers(offers)
  }

  /// Holds the slots and GPUs that one launch needs, and returns the GPUs.
  mutating func takePlace(on name: HostName, _ definition: Definition) -> [Int] {
    let gpus =
      definition.requirements.gpu.flatMap { gpu in change(name) { $0.host.bestGPUs(for: gpu).sorted() } } ?? []
    change(name) { state in
      state.host.usedSlots += definition.requirements.slots
      if !gpus.isEmpty { state.host.usedGPUs += gpus }
    }
    count(1, of: definition)
    return gpus
  }
}

extension Host {
  /// The GPUs that a launch gets: of the free ones with enough memory those with the least, so that the large ones stay
  /// free for launches that need them. Fewer than it needs if the host has not enough.
  func bestGPUs(for requirement: GPURequirement) -> [Int] {
    let gpus = conditions.gpus.value ?? []
    let free = suitableGPUs(for: requirement).filter { !usedGPUs.contains($0) }
    return Array(free.sorted { (gpus[$0].memoryBytes, $0) < (gpus[$1].memoryBytes, $1) }.prefix(requirement.count))
  }

  /// How many GPUs are present and not in use.
  fileprivate var freeGPUs: Int {
    guard let gpus = conditions.gpus.value, !gpus.isEmpty else { return 0 }
    return gpus.indices.count { gpus[$0].isPresent && !usedGPUs.contains($0) }
  }
}
