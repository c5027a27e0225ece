/// What a host must offer before a request may start there, and must go on offering while it runs.
package struct Requirements: Hashable, Sendable, Codable {
  package var externalPower: Bool
  package var network: NetworkRequirement?
  package var gpu: GPURequirement?
  package var requiresIdle: Bool
  /// How many of the host's slots one launch holds, 1 or more.
  package var slots: Int
  /// What the host's labels must say; nil, as in what an older version stored, means nothing.
  package var labels: [String: String]?

  package init(
    externalPower: Bool = false, network: NetworkRequirement? = nil, gpu: GPURequirement? = nil,
    requiresIdle: Bool = false, slots: Int = 1, labels: [String: String]? = nil
  ) {
    self.externalPower = externalPower
    self.network = network
    self.gpu = gpu
    self.requiresIdle = requiresIdle
    self.slots = slots
    self.labels = labels
  }
}

package enum NetworkRequirement: String, Sendable, Codable, CaseIterable {
  case any
  /// Not metered, by the system's word or the owner's configuration.
  case unmetered
}

package struct GPURequirement: Hashable, Sendable, Codable {
  /// GPUs held by one launch, 1 or more.
  package var count: Int
  /// Least memory of each of them, in bytes.
  package var memoryBytes: Int64?

  package init(count: Int = 1, memoryBytes: Int64? = nil) {
    self.count = count
    self.memoryBytes = memoryBytes
  }

  /// `1 GPU`, `2 GPUs with 8 GiB each`: for people.
  package var text: String {
    let gpus = count == 1 ? "1 GPU" : "\(count) GPUs"
    guard let memoryBytes else { return gpus }
    return "\(gpus) with \(Self.size(memoryBytes))" + (count == 1 ? "" : " each")
  }

  /// Exact, in the largest unit that makes a whole number of it.
  private static func size(_ bytes: Int64) -> String {
    let units: [(name: String, bytes: Int64)] = [
      ("TiB", 1 << 40), ("TB", 1_000_000_000_000), ("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20),
      ("MB", 1_000_000), ("KiB", 1 << 10), ("KB", 1_000),
    ]
    guard let unit = units.first(where: { bytes.isMultiple(of: $0.bytes) }) else { return "\(bytes) bytes" }
    return "\(bytes / unit.bytes) \(unit.name)"
  }
}
