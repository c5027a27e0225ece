package import BatonModel
package import BatonProcess

/// Tells whether the host's owner asked it to save power, by the platform profile `low-power`. This is the counterpart
/// of Apple's Low Power Mode.
///
/// `sys/firmware/acpi/platform_profile` stands for all drivers. If the file is missing, or says `custom` because the
/// drivers differ, `low-power` in one of `sys/class/platform-profile/*/profile` (Linux 6.14) is enough. The profiles
/// `quiet` and `cool` are about noise and heat, not about power (Documentation/ABI/testing/sysfs-platform_profile).
package struct PlatformProfileProbe: Sendable {
  package static let source = "sysfs"
  private static let file = "sys/firmware/acpi/platform_profile"
  private static let folder = "sys/class/platform-profile"
  private static let names: Set = [
    "low-power", "cool", "quiet", "balanced", "balanced-performance", "performance", "max-power", "custom",
  ]

  private let root: SystemRoot

  package init(root: SystemRoot) { self.root = root }

  /// Returns `nil` if the host has no platform profile. The reading is unknown if no file names a known profile.
  package func read() -> Reading<Bool>? {
    if let profile = root.string(Self.file), profile != "custom", Self.names.contains(profile) {
      return Reading(profile == "low-power", source: Self.source, raw: profile)
    }
    let files = files()
    if files.isEmpty { return nil }
    let profiles = files.map { root.string($0) ?? "" }.filter { Self.names.contains($0) }
    guard !profiles.isEmpty else {
      let said = files.map { "\($0): \(root.complaint(about: $0))" }.joined(separator: "; ")
      return Reading(nil, source: Self.source, raw: said)
    }
    return Reading(profiles.contains("low-power"), source: Self.source, raw: profiles.joined(separator: ", "))
  }

  private func files() -> [String] {
    let each = root.names(in: Self.folder).map { "\(Self.folder)/\($0)/profile" }
    return ([Self.file] + each).filter { root.text($0) != .missing }
  }
}
