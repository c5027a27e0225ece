import BatonBase
package import BatonModel
package import BatonProcess

/// The power source of a host, and the charge of its battery.
package struct PowerReadings: Hashable, Sendable {
  package var power: Reading<PowerSource>
  /// In per cent, 0 to 100. Also unknown if there is no battery.
  package var battery: Reading<Int>
}

/// Reads every supply in `sys/class/power_supply` (Linux, Documentation/ABI/testing/sysfs-class-power).
///
/// A reading takes a few small files per supply. The probe remembers nothing, so a supply that appears or vanishes
/// changes the next reading. Batteries of mice and headsets (`scope` is `Device`) do not count.
package struct PowerProbe: Sendable {
  package static let source = "sysfs"
  private static let folder = "sys/class/power_supply"

  private let root: SystemRoot
  private let fullMargin: Int

  /// - Parameter fullMargin: in per cent. A battery that drains beside an online supply counts as full while its charge
  ///   is at most this far below its limit (`power.fullMargin` in worker.yaml).
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

  /// Why the folder cannot be listed. `nil` if the folder can be listed or does not exist: a host without the folder
  /// has no supplies that could be read.
  private func refusal() -> String? {
    guard case .unreadable(let why) = root.text(Self.folder), why != SystemRoot.isFolder else { return nil }
    return "\(Self.folder): \(why)"
  }
}

extension SystemRoot {
  /// The explanation that `text` has for a folder. It shows that the folder exists and may be opened.
  static let isFolder = SystemCall.explanation(of: EISDIR)
}
