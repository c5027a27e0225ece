/// What a host must offer so that a request may start there. While the launch runs, the host must continue to offer it.
package struct Requirements: Hashable, Sendable, Codable {
  package var externalPower: Bool
  package var network: NetworkRequirement?
  package var gpu: GPURequirement?
  package var requiresIdle: Bool
  /// How many of the host's slots one launch holds, 1 or more.
  package var slots: Int
  /// The labels that the host must have, with their values. `nil`, which an older version stored, means no labels.
  package var labels: [String: String]?
  /// The labels that the host had better have, by name. A host without them may still take the job. `nil`, which an
  /// older version stored, means no labels.
  package var preferredLabels: [String: PreferredLabel]?

  package init(
    externalPower: Bool = false, network: NetworkRequirement? = nil, gpu: GPURequirement? = nil,
    requiresIdle: Bool = false, slots: Int = 1, labels: [String: String]? = nil,
    preferredLabels: [String: PreferredLabel]? = nil
  ) {
    self.externalPower = externalPower
    self.network = network
    self.gpu = gpu
    self.requiresIdle = requiresIdle
    self.slots = slots
    self.labels = labels
    self.preferredLabels = preferredLabels
  }

  /// How much the job prefers a host with these labels: the sum of the weights of the preferred labels that it has.
  package func preference(for labels: [String: String]) -> Int {
    (preferredLabels ?? [:]).reduce(0) { sum, wanted in
      labels[wanted.key] == wanted.value.value ? sum + wanted.value.weight : sum
    }
  }
}

/// The value of a label that a job prefers, and how much.
package struct PreferredLabel: Hashable, Sendable, Codable {
  package var value: String
  /// From 1 to 1,000 (`Definition.Limits.labelWeight`). Among the hosts that can take a request, those with the highest
  /// sum of weights go first.
  package var weight: Int

  package init(_ value: String, weight: Int = 1) { (self.value, self.weight) = (value, weight) }
}

/// The network that a job needs.
package enum NetworkRequirement: String, Sendable, Codable, CaseIterable {
  case any
  /// A network that is not metered, according to the system or to the owner's configuration.
  case unmetered
}

/// The GPUs that a job needs.
package struct GPURequirement: Hashable, Sendable, Codable {
  /// How many GPUs one launch holds, 1 or more.
  package var count: Int
  /// The least memory of each GPU, in bytes; `nil` means that any GPU will do.
  package var memoryBytes: Int64?

  package init(count: Int = 1, memoryBytes: Int64? = nil) {
    self.count = count
    self.memoryBytes = memoryBytes
  }

  /// The requirement in words for people, such as `1 GPU` or `2 GPUs with 8 GiB each`.
  package var text: String {
    let gpus = count == 1 ? "1 GPU" : "\(count) GPUs"
    guard let memoryBytes else { return gpus }
    return "\(gpus) with \(Self.size(memoryBytes))" + (count == 1 ? "" : " each")
  }

  /// `bytes` as an exact number, in the largest unit of which it is a whole number.
  private static func size(_ bytes: Int64) -> String {
    let units: [(name: String, bytes: Int64)] = [
      ("TiB", 1 << 40), ("TB", 1_000_000_000_000), ("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20),
      ("MB", 1_000_000), ("KiB", 1 << 10), ("KB", 1_000),
    ]
    guard let unit = units.first(where: { bytes.isMultiple(of: $0.bytes) }) else { return "\(bytes) bytes" }
    return "\(bytes / unit.bytes) \(unit.name)"
  }
}
