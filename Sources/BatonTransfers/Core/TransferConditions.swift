package import BatonModel

/// The conditions of a host that decide whether a transfer may run now.
package struct TransferConditions: Hashable, Sendable {
  package var network: NetworkState
  /// Whether the host's owner calls the network constrained.
  package var isConstrained: Bool
  package var hasExternalPower: Bool
  package var isIdle: Bool
  /// Whether the host's owner lends the host now.
  package var isLent: Bool

  package init(
    network: NetworkState = .unmetered, isConstrained: Bool = false, hasExternalPower: Bool = true, isIdle: Bool = true,
    isLent: Bool = true
  ) {
    (self.network, self.isConstrained, self.hasExternalPower) = (network, isConstrained, hasExternalPower)
    (self.isIdle, self.isLent) = (isIdle, isLent)
  }

  /// What a worker reads of its host. What is not known counts as the host's owner wants: the readings that arrive here
  /// have that treatment already. An idleness that is not known does not forbid a discretionary transfer.
  package init(_ conditions: Conditions, isConstrained: Bool) {
    self.init(
      network: conditions.network.value ?? .unavailable, isConstrained: isConstrained,
      hasExternalPower: conditions.power.value == .external, isIdle: conditions.isIdle.value ?? true,
      isLent: conditions.owner == .accepting)
  }

  /// The conditions of a host of which nothing is known: no transfer may run.
  package static let unknown = TransferConditions(network: .unavailable)

  /// What keeps a transfer from running; `nil` if nothing does.
  package func obstacle(to transfer: Transfer) -> TransferWait? {
    if !isLent { return .owner }
    if network == .unavailable { return .network }
    if network == .metered, transfer.isDiscretionary || transfer.network == .unmetered { return .unmeteredNetwork }
    if isConstrained, !transfer.allowsConstrained { return .unconstrainedNetwork }
    guard transfer.isDiscretionary else { return nil }
    if !hasExternalPower { return .externalPower }
    return isIdle ? nil : .idle
  }
}
