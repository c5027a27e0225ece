import BatonHost
import BatonModel
import ContractRows
import HostFixtures
import Testing

@Suite("Low power mode by the platform profile")
struct PlatformProfileProbeTests {
  static let file = "sys/firmware/acpi/platform_profile"
  static let classes = "sys/class/platform-profile"

  @Test(
    "low-power is low power, and nothing else is",
    arguments: [
      ("low-power", true), ("low-power\r", true), ("cool", false), ("quiet", false), ("balanced", false),
      ("balanced-performance", false), ("performance", false), ("max-power", false), ("custom", false), ("", nil),
      ("low", nil), ("low-power balanced", nil), (MachineFolder.unreadable, nil),
    ] as [(String, Bool?)])
  func profile(_ text: String, isLow: Bool?) throws {
    let reading = try MachineFolder.with([Self.file: text]) { PlatformProfileProbe(root: $0.root).read() }
    #expect(try #require(reading).value == isLow)
    #expect(reading?.source == "sysfs")
    if isLow == nil { #expect(reading?.raw.hasPrefix(Self.file) == true) }
  }

  @Test("a host without the file has no such mode")
  func absent() throws {
    #expect(try MachineFolder.with { PlatformProfileProbe(root: $0.root).read() } == nil)
    let choices = [
      "sys/firmware/acpi/platform_profile_choices": "low-power balanced", Self.classes: MachineFolder.folder,
    ]
    #expect(try MachineFolder.with(choices) { PlatformProfileProbe(root: $0.root).read() } == nil)
  }

  @Test(
    "one driver of several is enough, where the file for all is missing or says that they differ",
    arguments: [
      ([:], ["balanced", "low-power"], true), ([:], ["balanced", "quiet"], false),
      ([file: "custom"], ["performance", "low-power"], true), ([file: "custom"], ["performance", "quiet"], false),
      ([file: "balanced"], ["balanced", "low-power"], false), ([:], ["?"], nil),
    ] as [([String: String], [String], Bool?)])
  func drivers(_ files: [String: String], each: [String], isLow: Bool?) throws {
    let drivers = each.enumerated().map { ("\(Self.classes)/platform-profile-\($0)/profile", $1) }
    let all = files.merging(drivers) { $1 }
    let reading = try MachineFolder.with(all) { PlatformProfileProbe(root: $0.root).read() }
    #expect(try #require(reading).value == isLow)
  }
}
