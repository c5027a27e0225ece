import BatonBase

/// How a process divides its file descriptors between its connections and its own files. A process without a free
/// descriptor can open no file; on Linux, libdispatch then ends the process.
package struct DescriptorBudget: Hashable, Sendable {
  package let limit: Int
  /// How long a connection may exist before something was served over it.
  package let patience: Duration

  /// - Parameter limit: the number of descriptors that the process may have (`RLIMIT_NOFILE`).
  package init(limit: Int, patience: Duration = .seconds(5)) { (self.limit, self.patience) = (limit, patience) }

  /// Descriptors for files, pipes, the exporter and the owner's connections: 256, or a quarter of the limit if that is
  /// less.
  package var reserve: Int { min(256, limit / 4) }

  /// Limits for HTTP: 128 connections, or an eighth of the limit if that is less. A new connection may replace any of
  /// them. The owner has 16 additional connections, or a sixteenth of the reserve if that is less.
  package var http: Admission.Limits {
    let connections = max(1, min(128, limit / 8))
    return Admission.Limits(
      connections: connections, reservedForOwner: reserve / 16, unproven: connections,
      unprovenPerAddress: connections, patience: patience)
  }

  /// Limits for gRPC: all remaining connections. At most 1,000 of them, and at most half of them, may have shown no
  /// token; at most half of that number may come from one address.
  package var grpc: Admission.Limits {
    let connections = max(4, limit - reserve - http.connections)
    let unproven = min(1000, connections / 2)
    return Admission.Limits(
      connections: connections, reservedForOwner: reserve / 2, unproven: unproven, unprovenPerAddress: unproven / 2,
      patience: patience)
  }

  /// The budget of this process by its present limit.
  package static var current: DescriptorBudget {
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0 else { return DescriptorBudget(limit: 256) }
    return DescriptorBudget(limit: Int(clamping: limits.rlim_cur))
  }

  /// Raises this process's limit of descriptors to `wanted`, or to the most that the process may have. Never lowers the
  /// limit.
  /// - Parameter wanted: `nil` stands for the most that the process may have. Programs that this process starts inherit
  ///   the limit, so a process that starts programs should ask for no more than it needs.
  package static func raise(to wanted: Int? = nil) {
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0 else { return }
    #if canImport(Darwin)
      let most = min(limits.rlim_max, rlim_t(OPEN_MAX))
    #else
      let most = limits.rlim_max
    #endif
    let limit = min(most, wanted.map(rlim_t.init) ?? most)
    guard limits.rlim_cur < limit else { return }
    limits.rlim_cur = limit
    _ = setrlimit(resource, &limits)
  }

  /// The number of descriptors that a worker needs: at most 16 for each launch (its pipes, folder and control group),
  /// and 256 for itself.
  package static func needed(bySlots slots: Int) -> Int { 256 + 16 * slots }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
