package import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The clocks of this machine. Code that makes decisions does not call them: the shells read the clocks and pass the
/// values in.
package enum SystemClocks {
  /// The monotonic clock. It advances while the machine sleeps, so that a lease ends even if a laptop is closed.
  package static func instant() -> Instant { Instant(nanoseconds: read(boottime)) }
  /// The wall clock.
  package static func date() -> Timestamp { Timestamp(nanoseconds: read(CLOCK_REALTIME)) }
  /// Both clocks, read together. The steady clock agrees with the wall clock.
  package static func now() -> Now { Now(instant: instant(), date: date()) }

  /// Identifies the boot of the machine that instants belong to; empty if the system does not tell.
  package static let boot = readBoot()

  #if os(Linux)
    private static func readBoot() -> String {
      guard let file = fopen("/proc/sys/kernel/random/boot_id", "r") else { return "" }
      defer { fclose(file) }
      var bytes = [UInt8](repeating: 0, count: 36)
      return fread(&bytes, 1, bytes.count, file) == bytes.count ? String(decoding: bytes, as: UTF8.self) : ""
    }
  #else
    private static func readBoot() -> String {
      var bytes = [UInt8](repeating: 0, count: 64)
      var size = bytes.count
      guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  #endif

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
