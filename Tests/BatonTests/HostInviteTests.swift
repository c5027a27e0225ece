import BatonCommands
import BatonCoordinator
import BatonModel
import BatonStore
import BatonWire
import Testing

@testable import BatonCommands

/// The addresses in `baton host invite`.
@Suite struct HostInviteTests {
  private func report(_ number: Int64, operators: String?, isEnded: Bool = false) -> CoordinatorReport {
    CoordinatorReport(
      number: number,
      place: CoordinatorPlace(name: "m", version: "0.1.0", workers: "m:7420", operators: operators), hosts: 0,
      isSteward: false, answers: number == 1, isEnded: isEnded)
  }

  @Test func `a new host gets the addresses of all coordinators that other machines reach`() throws {
    let all = [
      report(1, operators: "a:7422"), report(2, operators: "b:7422"), report(3, operators: nil),
      report(4, operators: "127.0.0.1:7422"), report(5, operators: "e:7422", isEnded: true),
      report(6, operators: "b:7422"),
    ]
    #expect(HostInviteCommand.addresses(HostPort(host: "a", port: 7422), all) == "a:7422,b:7422")
    #expect(HostInviteCommand.addresses(HostPort(host: "a", port: 7422), []) == "a:7422")
  }

  private func waiting(_ host: String, _ peer: String, asking: Int) -> WaitingHost {
    WaitingHost(
      host: HostName(host), number: "082514", peer: peer, at: Timestamp(nanoseconds: 1_772_346_600_000_000_000),
      asking: asking)
  }

  @Test func `several hosts that ask with one invitation are told, with where they ask from`() async throws {
    let hosts = [waiting("base", "ipv4:a:1", asking: 1), waiting("desk", "ipv4:b:1", asking: 2)]
    let world = World { $0.waiting = hosts + [self.waiting("desk", "ipv4:c:2", asking: 2)] }
    let run = await world.baton("host", "waiting")
    #expect(run.status == 0)
    #expect(run.error.contains("2 hosts ask with the same invitation of desk, from ipv4:b:1, ipv4:c:2: "), "\(run)")
    #expect(!run.error.contains("base"))
    let json = await world.baton("host", "waiting", "-o", "jsonl").output
    #expect(json.contains("\"asking\":2"), "\(json)")
    let alone = await World { $0.waiting = [hosts[0]] }.baton("host", "waiting")
    #expect(alone.error.isEmpty)
  }

  @Test func `an address that is none is refused before the host is invited`() async {
    let world = World()
    let run = await world.baton("host", "invite", "desk", "--address", "a:7422,,b:7422")
    #expect(run.status == 64 && run.error.contains("address 2 of 3 is empty"))
    #expect(world.coordinator.calls.isEmpty)
  }
}
