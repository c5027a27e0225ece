package import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The clocks of this machine. Nothing that decides calls them: they are read at the edge, and passed in.
package enum SystemClocks {
  /// Goes on while the machine sleeps, so that a lease does not outlive a closed lid.
  package static func instant() -> Instant { Instant(nanoseconds: read(boottime)) }
  package static func date() -> Timestamp { Timestamp(nanoseconds: read(CLOCK_REALTIME)) }
  package static func now() -> Now { Now(instant: instant(), date: date()) }

  #if os(Linux)
    private static let boottime = CLOCK_BOOTTIME
  #else
    private static let boottime = CLOCK_MONOTONIC
  #endif

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
