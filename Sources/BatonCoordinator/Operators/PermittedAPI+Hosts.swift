import BatonModel
import BatonStore

/// The calls about hosts, and about the fleet as a whole.
extension PermittedAPI {
  /// Of what runs on the hosts, only what the caller's patterns cover is named.
  func hostReports() async throws -> [HostReport] {
    try await api.hostReports().map { report in
      var report = report
      report.running.removeAll { !caller.covers($0) }
      return report
    }
  }

  func coordinators() async throws -> [CoordinatorReport] { try await api.coordinators() }

  /// A caller with patterns sees only the transfers of jobs that its patterns cover.
  func transfers(on host: HostName?) async throws -> FleetTransfers {
    var found = try await api.transfers(on: host)
    found.transfers.removeAll { caller.limits != nil && !caller.covers(IdentifierPattern($0.identifier)) }
    return found
  }

  func cancelTransfer(_ key: TransferKey) async throws {
    try await checkUnlimited("CancelTransfer", "\(key)")
    try await changing("CancelTransfer", "\(key)") { try await api.cancelTransfer(key) }
  }

  /// A caller with patterns sees only the namespaces that its patterns cover.
  func namespaces() async throws -> NamespaceReports {
    var reports = try await api.namespaces()
    reports.namespaces.removeAll { report in
      guard caller.limits != nil else { return false }
      let prefix = report.namespace.prefix
      return prefix.isEmpty || !caller.covers(IdentifierPattern(trusted: prefix + ".*"))
    }
    return reports
  }

  /// A caller with patterns hears only of the evictions that they cover.
  func standing() async throws -> FleetStanding {
    var standing = try await api.standing()
    standing.evictions.removeAll { !caller.covers($0.pattern) }
    return standing
  }

  func setDraining(_ host: HostName, _ isDraining: Bool) async throws {
    try await checkUnlimited("Drain", host.rawValue)
    try await changing(isDraining ? "Drain" : "Undrain", host.rawValue) {
      try await api.setDraining(host, isDraining)
    }
  }

  func setEvicted(
    _ pattern: IdentifierPattern, from hosts: [HostName], _ isEvicted: Bool
  ) async throws -> [HostName] {
    try await check(pattern, "Evict")
    return try await changing(isEvicted ? "Evict" : "Unevict", pattern.rawValue) {
      try await api.setEvicted(pattern, from: hosts, isEvicted)
    }
  }

  func setPaused(_ isPaused: Bool) async throws {
    try await checkUnlimited(isPaused ? "Pause" : "Resume", "")
    try await changing(isPaused ? "Pause" : "Resume", "") { try await api.setPaused(isPaused) }
  }

  func simulateTransfer(_ key: TransferKey, _ what: TransferSimulation) async throws {
    try await checkUnlimited("SimulateTransfer", "\(key)")
    try await changing("SimulateTransfer", "\(key) \(what.rawValue)") { try await api.simulateTransfer(key, what) }
  }

  func simulateConditions(_ overrides: ConditionOverrides, on host: HostName, lasting: Duration) async throws {
    try await checkUnlimited("SimulateConditions", host.rawValue)
    try await changing("SimulateConditions", host.rawValue) {
      try await api.simulateConditions(overrides, on: host, lasting: lasting)
    }
  }
}
