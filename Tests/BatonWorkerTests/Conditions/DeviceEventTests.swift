import BatonHost
import ContractRows
import Foundation
import Testing

@Suite("What drivers say of their devices", .timeLimit(.minutes(10)))
struct DeviceEventTests {
  /// Every host has the loopback interface as a device. A write to its `uevent` makes the kernel announce the device
  /// again.
  private static let device = "/sys/class/net/lo/uevent"

  @Test(
    "is noticed without polling",
    .enabled(if: access(Self.device, W_OK) == 0 && NetlinkWatch(.devices) != nil, "no device can be announced here"))
  func announced() async throws {
    let watch = try #require(NetlinkWatch(.devices))
    try Data("change".utf8).write(to: URL(fileURLWithPath: Self.device))
    let events = watch.makeAsyncIterator()
    #expect(await events.next() != nil)
  }
}
