import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonHost

@Suite("Who may speak for a host's owner")
struct OwnerAccessTests {
  private static let own = geteuid()
  private static let stranger = geteuid() &+ 4_000_000

  @Test(
    "root, the worker's user and members of the group may, nobody else",
    arguments: [
      (0, [5], nil, true), (own, [5], nil, true), (stranger, [5], nil, false), (stranger, [5], 9, false),
      (stranger, [5, 9], 9, true), (stranger, [9], 9, true), (stranger, [], 9, false),
    ] as [(UInt32, [UInt32], UInt32?, Bool)])
  func may(user: UInt32, groups: [UInt32], ownerGroup: UInt32?, expected: Bool) {
    let access = OwnerAccess(
      peer: { _ in nil }, ownerGroup: { ownerGroup }, groups: { _ in groups }, name: { "user \($0)" })
    let refusal = access.refusal(of: OwnerAccess.Peer(user: user, group: groups.first ?? 0))
    #expect((refusal == nil) == expected)
    if !expected { #expect(refusal?.contains("user \(user) is not permitted") == true) }
  }

  @Test("whom the system does not name may not")
  func unknown() {
    #expect(OwnerAccess.system.refusal(of: nil) != nil)
  }

  @Test("the system names the other end of a socket, and every user has a group")
  func system() throws {
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    #else
      #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM), 0, &ends) == 0)
    #endif
    defer { for end in ends { close(end) } }
    #expect(OwnerAccess.system.peer(ends[0]) == OwnerAccess.Peer(user: geteuid(), group: getegid()))
    #expect(OwnerAccess.system.peer(-1) == nil)
    #expect(UserDirectory.name(of: 0) == "root" && !UserDirectory.groups(of: 0).isEmpty)
    #expect(UserDirectory.group("no such group") == nil)
  }
}

@Suite("Finding the worker of a host")
struct OwnerSocketSearchTests {
  private typealias Found = OwnerSocketSearch.Found

  @Test(
    "a worker listens where it is told, below systemd's folder, or below its user's",
    arguments: [
      ("/x/y.sock", ["RUNTIME_DIRECTORY": "/run/baton"], "/x/y.sock", false),
      (
        nil, ["RUNTIME_DIRECTORY": "/run/baton:/run/other", "XDG_RUNTIME_DIR": "/run/user/7"], "/run/baton/worker.sock",
        false
      ),
      (nil, ["XDG_RUNTIME_DIR": "/run/user/7"], "/run/user/7/baton/worker-desk.sock", true),
      (nil, ["XDG_RUNTIME_DIR": ""], "/tmp/baton-7/worker-desk.sock", true),
    ] as [(String?, [String: String], String, Bool)])
  func place(setting: String?, environment: [String: String], path: String, makesFolder: Bool) {
    let place = OwnerSocketPath(setting: setting, name: "desk", environment: environment, user: 7)
    #expect(place.path == path && place.makesFolder == makesFolder)
  }

  @Test("its owner looks there, and where systemd puts it")
  func folders() {
    #expect(OwnerSocketPath.folders(environment: [:], user: 7) == ["/run/baton", "/tmp/baton-7"])
    #expect(
      OwnerSocketPath.folders(environment: ["RUNTIME_DIRECTORY": "/run/baton", "XDG_RUNTIME_DIR": "/u"], user: 7)
        == ["/run/baton", "/u/baton"])
    #expect(OwnerSocketPath.name(ofFile: "worker-a-b.sock") == "a-b")
    #expect(OwnerSocketPath.name(ofFile: "worker-.sock") == nil && OwnerSocketPath.isSocketName("worker.sock"))
    #expect(!OwnerSocketPath.isSocketName("7420.token"))
  }

  private static let desk = Found(path: "/r/worker-desk.sock", state: .live(name: "desk"))
  private static let lamp = Found(path: "/r/worker.sock", state: .live(name: "lamp"))
  private static let dead = Found(path: "/r/worker-old.sock", state: .dead)
  private static let denied = Found(path: "/s/worker.sock", state: .notPermitted)

  @Test("the one that lives is meant, or the one of that name")
  func choice() throws {
    func choose(_ found: [Found], _ name: String? = nil) throws -> String {
      try OwnerSocketSearch.choose(among: found, name: name, folders: ["/r"])
    }
    #expect(try choose([Self.dead, Self.desk, Self.denied]) == "/r/worker-desk.sock")
    #expect(try choose([Self.desk, Self.lamp], "lamp") == "/r/worker.sock")
  }

  @Test("none, several and a forbidden one are errors that say what to do")
  func errors() {
    let cases: [([Found], String?, OwnerClientError.Code, [String])] = [
      ([], nil, .unreachable, ["no worker was found on this host in", "/r", "--socket"]),
      ([Self.dead], nil, .unreachable, ["no worker was found"]),
      ([Self.desk, Self.lamp], nil, .refused, ["desk (/r/worker-desk.sock), lamp (/r/worker.sock)", "--name"]),
      ([Self.desk, Self.desk], "desk", .refused, ["--socket"]),
      ([Self.dead, Self.denied], nil, .notPermitted, ["/s/worker.sock", "'baton-owner'"]),
      ([Self.desk], "lamp", .unreachable, ["'lamp'", "desk (/r/worker-desk.sock)"]),
      ([Self.desk, Self.denied], "lamp", .notPermitted, ["/s/worker.sock"]),
    ]
    for (found, name, code, words) in cases {
      let error = #expect(throws: OwnerClientError.self) {
        try OwnerSocketSearch.choose(among: found, name: name, folders: ["/r"])
      }
      #expect(error?.code == code)
      for word in words { #expect(error?.message.contains(word) == true) }
    }
  }

  @Test("on a real folder the dead are passed over, and a worker says its name")
  func real() async throws {
    let host = try FakeHost()
    let dead = try #require(UnixSocket.make())
    #expect(dead.bind(to: host.folder.path + "/worker-dead.sock") == 0)
    try Data().write(to: URL(fileURLWithPath: host.folder.path + "/worker-file.sock"))
    let search = OwnerSocketSearch(folders: ["/no/such/folder", host.folder.path], patience: .seconds(60))
    let path = try await host.serving { _ in try await search.path(name: nil) }
    #expect(path == host.socketPath)
    await #expect(throws: OwnerClientError.self) { try await search.path(name: nil) }
  }

  @Test("all workers of a host are found: in folders, where the system lists sockets, and where the setting says")
  func census() async throws {
    let (first, second, third) = (try FakeHost(), try FakeHost(), try FakeHost())
    let dead = try #require(UnixSocket.make())
    #expect(dead.bind(to: first.folder.path + "/worker-dead.sock") == 0)
    let census = try await first.serving { _ in
      try await second.serving { _ in
        try await third.serving { _ in
          await OwnerSocketSearch.census(
            folders: ["/no/such/folder", first.folder.path],
            listed: [first.socketPath, second.socketPath, first.folder.path + "/worker-dead.sock", "/no/worker.sock"],
            setting: third.socketPath, patience: .seconds(60))
        }
      }
    }
    #expect(Set(census.workers.map(\.path)) == [first.socketPath, second.socketPath, third.socketPath])
    #expect(census.workers.map(\.name) == ["desk", "desk", "desk"] && census.denied.isEmpty)
  }

  @Test("the system's list of sockets has the workers' by their file names")
  func table() {
    let text = """
      Num       RefCount Protocol Flags    Type St Inode Path
      0000000000000000: 00000002 00000000 00010000 0001 01 21871 /run/user/7/baton/worker-desk.sock
      0000000000000000: 00000002 00000000 00010000 0001 01 21872 /run/a b/worker.sock
      0000000000000000: 00000002 00000000 00010000 0001 01 21873 @/hidden/worker.sock
      0000000000000000: 00000003 00000000 00000000 0001 03 21874
      0000000000000000: 00000002 00000000 00010000 0001 01 21875 /run/dbus/system_bus_socket
      """
    #expect(OwnerSocketSearch.paths(inTable: text) == ["/run/user/7/baton/worker-desk.sock", "/run/a b/worker.sock"])
    #expect(OwnerSocketSearch.paths(inTable: "").isEmpty)
  }

  @Test("a socket that this user may not use is not taken for a dead one")
  func permission() async throws {
    let client = OwnerClient(path: String(repeating: "x", count: 200), patience: .seconds(60))
    let error = await #expect(throws: OwnerClientError.self) { try await client.ask(.status) }
    #expect(error?.code == .unreachable && error?.message.contains("200 bytes") == true)
  }
}
