#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// How a process divides its file descriptors between what it serves and what it needs itself. A process that has none
/// left cannot open its files any more; on Linux libdispatch ends it.
package struct DescriptorBudget: Hashable, Sendable {
  package let limit: Int
  /// How long a connection may be silent before the first call that is served.
  package let patience: Duration

  /// - Parameter limit: of descriptors, `RLIMIT_NOFILE`.
  package init(limit: Int, patience: Duration = .seconds(5)) { (self.limit, self.patience) = (limit, patience) }

  /// For files, pipes, the exporter, and the owner's connections: 256, or a quarter where the limit is small.
  package var reserve: Int { min(256, limit / 4) }

  /// HTTP: 128 connections, or an eighth. Each may be given up for a new one. 16 further ones for the owner, or a
  /// sixteenth of the reserve.
  package var http: Admission.Limits {
    let connections = max(1, min(128, limit / 8))
    return Admission.Limits(
      connections: connections, reservedForOwner: reserve / 16, unproven: connections,
      unprovenPerAddress: connections, patience: patience)
  }

  /// gRPC: the rest. Of these at most 1,000 (500 from one address), and at most half (a quarter), have shown no token.
  package var grpc: Admission.Limits {
    let connections = max(4, limit - reserve - http.connections)
    let unproven = min(1000, connections / 2)
    return Admission.Limits(
      connections: connections, reservedForOwner: reserve / 2, unproven: unproven, unprovenPerAddress: unproven / 2,
      patience: patience)
  }

  /// Of this process, as it is now.
  package static var current: DescriptorBudget {
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0 else { return DescriptorBudget(limit: 256) }
    return DescriptorBudget(limit: Int(clamping: limits.rlim_cur))
  }

  /// Raises the limit of this process to `wanted`, or to the most that it may have. Never lowers it.
  ///
  /// - Parameter wanted: programs that this process starts get this limit too, so a process that starts any asks for no
  ///   more than it needs; nil stands for the most.
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

  /// The descriptors that a worker needs: for each launch its pipes, folder and control group (at most 16), and 256 for
  /// itself.
  package static func needed(bySlots slots: Int) -> Int { 256 + 16 * slots }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
