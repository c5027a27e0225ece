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
}
