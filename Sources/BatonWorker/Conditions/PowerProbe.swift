package import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What feeds a host, and how full its battery is.
package struct PowerReadings: Hashable, Sendable {
  package var power: Reading<PowerSource>
  /// In per cent, 0 to 100; unknown also where there is no battery.
  package var battery: Reading<Int>

  package init(power: Reading<PowerSource>, battery: Reading<Int>) {
    self.power = power
    self.battery = battery
  }
}

/// Looks at every supply in `sys/class/power_supply` (Linux, Documentation/ABI/testing/sysfs-class-power).
///
/// A reading takes a few small files per supply, and remembers nothing: a supply that appears or vanishes counts, or
/// does not, from the next reading on. Batteries of mice and headsets (`scope` is `Device`) never count.
package struct PowerProbe: Sendable {
  package static let source = "sysfs"
  private static let folder = "sys/class/power_supply"

  private let root: SystemRoot
  private let fullMargin: Int

  /// - Parameter fullMargin: in per cent; a battery that drains beside a supply that is online is still called full so
  ///   far below what it may be charged to (`powerFullMargin` in worker.yaml).
  package init(root: SystemRoot, fullMargin: Int = 5) {
    self.root = root
    self.fullMargin = fullMargin
  }

  package func read() -> PowerReadings {
    let names = root.names(in: Self.folder)
    if names.isEmpty, let refusal = refusal() {
      return PowerReadings(
        power: Reading(nil, source: Self.source, raw: refusal), battery: Reading(nil, source: Self.source, raw: refusal)
      )
    }
    let supplies = names.compactMap { PowerSupply(named: $0, in: "\(Self.folder)/\($0)", of: root) }
    return PowerReadings(
      power: PowerVerdict(supplies, fullMargin: fullMargin).reading, battery: PowerVerdict.charge(of: supplies))
  }

  /// Why the folder cannot be listed, nil if it can or is not there: a host without it has no supply to speak of.
  private func refusal() -> String? {
    guard case .unreadable(let why) = root.text(Self.folder), why != SystemRoot.isFolder else { return nil }
    return "\(Self.folder): \(why)"
  }
}

extension SystemRoot {
  /// What `text` says of a folder that can be listed.
  static let isFolder = SystemCall.explanation(of: EISDIR)
}
