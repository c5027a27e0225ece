package import BatonModel

/// Tells whether the host's owner chose the power saver: the switch that GNOME and Plasma show. The answer comes from
/// power-profiles-daemon or a service that takes its place, such as tuned-ppd.
package struct PowerProfileProbe: Sendable {
  package static let source = "power-profiles-daemon"

  /// The service's name since version 0.20, and its older name.
  private static let objects = [
    BusObject(
      service: "org.freedesktop.UPower.PowerProfiles", path: "/org/freedesktop/UPower/PowerProfiles",
      interface: "org.freedesktop.UPower.PowerProfiles"),
    BusObject(
      service: "net.hadess.PowerProfiles", path: "/net/hadess/PowerProfiles", interface: "net.hadess.PowerProfiles"),
  ]

  private let bus: SystemBus

  package init(bus: SystemBus) { self.bus = bus }

  /// Asks the service for the active profile. The reading is `true` for `power-saver`.
  package func read(at now: Instant) async -> BusWord<Reading<Bool>> {
    for object in Self.objects {
      let answer = await bus.properties(["ActiveProfile"], of: object, at: now)
      if answer == .missing { continue }
      return BusWord(answer) { Self.reading($0[0].text ?? "") }
    }
    return .absent
  }

  private static func reading(_ profile: String) -> Reading<Bool> {
    Reading(profile.isEmpty ? nil : profile == "power-saver", source: source, raw: profile)
  }
}
