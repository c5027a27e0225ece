import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonHost
@testable import BatonProcess

@Suite("The owner's socket", .timeLimit(.minutes(10)))
struct OwnerSocketTests {
  @Test("a pause stops what runs, is waited for until the host is free, and is taken back")
  func round() async throws {
    let (host, said) = (try FakeHost(running: 2), Heard<String>())
    try await host.serving { client in
      #expect(try await client.ask(.status).0.owner.state == "accepting")
      let (status, warning) = try await client.ask(.pause(for: .seconds(7200)))
      #expect(warning == nil && status.owner.until?.date == ManualNow.noon + .seconds(7200))
      #expect(status.launches.map(\.expiring?.reason) == ["pausedByOwner", "pausedByOwner"])

      let watch = PauseWatch { () async throws(OwnerClientError) in
        try await client.ask(.status).0
      } sleep: { _ in
        host.clock.advance(.seconds(10))
        host.endLaunch()
      }
      try await watch.untilFree(from: status, isTerminal: false) { said.add($0) }
      #expect(try await client.ask(.resume).0.owner.state == "accepting")
    }
    #expect(
      said.values == [
        "stopping 2 launches, at most 30 s more", "stopping 1 launch, at most 20 s more", "the host is free",
      ])
    #expect(host.words.values.count == 2 && host.words.values.last == .accepting)
  }

  @Test("who asked is the user that the system names, and without a length it lasts until resume")
  func user() async throws {
    let host = try FakeHost()
    _ = try await host.serving { try await $0.ask(.pause(for: nil)) }
    #expect(host.desk.word() == .paused(by: UserDirectory.name(of: geteuid()) ?? "", until: nil))
  }

  @Test("the file is its user's alone, and gone when the worker ends")
  func file() async throws {
    let host = try FakeHost()
    let permissions = try await host.serving { FileIdentity(of: $0.path)?.permissions }
    #expect(permissions == (UserDirectory.group(OwnerAccess.groupName) == nil ? 0o600 : 0o660))
    #expect(FileIdentity(of: host.socketPath) == nil)
  }

  @Test(
    "what is no request is refused in a line, and harms nothing",
    arguments: [
      "", "hello", "{}", "[1]", "\"pause\"", #"{"command": "reboot"}"#, #"{"command": 7}"#, "\u{1}\u{2}",
      #"{"command": "pause", "milliseconds": -1}"#, #"{"command": "pause", "milliseconds": 0}"#,
      #"{"command": "pause", "milliseconds": 99999999999999999}"#, #"{"command": "pause", "milliseconds": "2h"}"#,
      String(repeating: "x", count: 4097), String(repeating: "[", count: 4000),
    ])
  func garbage(text: String) async throws {
    let host = try FakeHost()
    let answer = try await host.serving { client in
      let answer = try await raw(text + "\n", to: client.path)
      #expect(try await client.ask(.status).0.name == "desk")
      return answer
    }
    guard case .line(let line) = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(try JSONDecoder().decode(OwnerAnswer.self, from: Data(line)).error?.code == "badRequest")
    #expect(host.words.values.isEmpty)
  }

  @Test("a request of 4 KiB is taken, also with keys that this version does not know, and a longer one is refused")
  func longest() async throws {
    let host = try FakeHost()
    let answers = try await host.serving { client in
      var answers: [UnixSocket.Line] = []
      for bytes in [4096, 4097] {
        let start = #"{"command": "status", "later": ""#
        let text = start + String(repeating: "x", count: bytes - start.utf8.count - 2) + "\"}"
        answers.append(try await raw(text + "\n", to: client.path))
      }
      return answers
    }
    let decoded = try answers.map { answer in
      guard case .line(let line) = answer else { return nil as OwnerAnswer? }
      return try JSONDecoder().decode(OwnerAnswer.self, from: Data(line))
    }
    #expect(decoded[0]?.status?.name == "desk")
    #expect(decoded[1]?.error?.message == "a request has at most 4096 bytes")
  }

  @Test("peers that say nothing, or half a line, are hung up on, and keep nobody out")
  func silent() async throws {
    let host = try FakeHost()
    let limits = OwnerSocket.Limits(patience: .milliseconds(30), connections: 3)
    try await host.serving(limits: limits) { client in
      let silent = try (0..<6).map { index in
        let socket = try connect(client.path)
        if index.isMultiple(of: 2) { #expect(socket.send(Array("{\"comm".utf8), until: .now + .seconds(60))) }
        return socket
      }
      #expect(try await client.ask(.status).0.name == "desk")
      for socket in silent {
        #expect(try await onOwnThread { socket.line(atMost: 100, until: .now + .seconds(60)) } == .ended)
      }
    }
  }

  @Test("one that leaves before its answer does no harm")
  func leaves() async throws {
    let host = try FakeHost(running: 1)
    try await host.serving { client in
      for _ in 0..<20 {
        let socket = try connect(client.path)
        #expect(socket.send(Array("{\"command\": \"status\"}\n".utf8), until: .now + .seconds(60)))
      }
      #expect(try await client.ask(.status).0.launches.count == 1)
    }
  }

  @Test("twenty at once are all answered, four at a time")
  func twenty() async throws {
    let host = try FakeHost()
    let limits = OwnerSocket.Limits(patience: .seconds(60), connections: 4)
    let names = try await host.serving(limits: limits) { client in
      // All clients are connected before the first one sends its request.
      let sockets = try (0..<20).map { _ in try connect(client.path) }
      return try await withThrowingTaskGroup(of: String?.self) { group in
        for socket in sockets { group.addTask { try await name(by: socket) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(names == Array(repeating: "desk", count: 20))
  }

  @Test("a stranger is refused before a word is read, and told what to do")
  func stranger() async throws {
    let host = try FakeHost()
    var access = OwnerAccess.system
    access.peer = { _ in OwnerAccess.Peer(user: geteuid() &+ 4_000_000, group: 4_000_000) }
    access.groups = { [$0.group] }
    access.ownerGroup = { nil }
    let error = try await host.serving(access: access) { client in
      await #expect(throws: OwnerClientError.self) { try await client.ask(.pause(for: nil)) }
    }
    #expect(error?.code == .notPermitted)
    #expect(error?.message.contains("usermod -aG baton-owner") == true)
    #expect(host.words.values.isEmpty)
  }

  @Test("a pause on file holds when the worker that listens is a new one")
  func restart() async throws {
    let first = try FakeHost(running: 1)
    _ = try await first.serving { try await $0.ask(.pause(for: .seconds(3600))) }
    first.clock.advance(.seconds(60))
    let second = try FakeHost(folder: first.folder, clock: first.clock)
    let status = try await second.serving { try await $0.ask(.status).0 }
    #expect(status.owner.state == "paused" && status.owner.until?.date == ManualNow.noon + .seconds(3600))
  }
}

@Suite("The file of the owner's socket")
struct OwnerListenerTests {
  private let folder: OwnerFolder
  private let place: OwnerSocketPath

  init() throws {
    folder = try OwnerFolder()
    place = OwnerSocketPath(setting: folder.path + "/w.sock", name: "desk", environment: [:], user: geteuid())
  }

  @Test("what a dead worker left is replaced, where another one listens nobody else does")
  func stale() throws {
    let dead = try #require(UnixSocket.make())
    #expect(dead.bind(to: place.path) == 0)
    let listener = try OwnerListener(place, group: nil)
    let error = #expect(throws: SystemError.self) { try OwnerListener(place, group: nil) }
    #expect(error?.message.contains("another worker listens") == true)
    listener.remove()
    #expect(FileIdentity(of: place.path) == nil)
  }

  @Test("a worker that ends leaves alone what another has put there since")
  func successor() throws {
    let first = try OwnerListener(place, group: nil)
    try FileManager.default.moveItem(atPath: place.path, toPath: place.path + ".old")
    let second = try OwnerListener(place, group: nil)
    first.remove()
    #expect(FileIdentity(of: place.path)?.isSocket == true)
    second.remove()
    #expect(FileIdentity(of: place.path) == nil)
  }

  @Test("a file that is no socket is left alone, a path that is too long or nowhere says so")
  func errors() throws {
    try Data("mine".utf8).write(to: URL(fileURLWithPath: place.path))
    let long = folder.path + "/" + String(repeating: "n", count: 120)
    for (path, words) in [
      (place.path, "is not a socket"), (long, "'ownerSocket' to a shorter path"),
      (folder.path + "/a/b.sock", "ownerSocket"),
    ] {
      let place = OwnerSocketPath(setting: path, name: "desk", environment: [:], user: geteuid())
      let error = #expect(throws: SystemError.self) { try OwnerListener(place, group: nil) }
      #expect(error?.message.contains(words) == true && error?.message.contains(path) == true)
    }
    #expect(try String(contentsOfFile: place.path, encoding: .utf8) == "mine")
  }

  @Test("the runtime folder is made for the user alone; one that others may write to, or a link, is not trusted")
  func runtimeFolder() throws {
    let environment = ["XDG_RUNTIME_DIR": folder.path]
    let place = OwnerSocketPath(setting: nil, name: "desk", environment: environment, user: geteuid())
    try OwnerListener(place, group: nil).remove()
    #expect(FileIdentity(of: folder.path + "/baton")?.permissions == 0o700)

    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path + "/baton")
    let open = #expect(throws: SystemError.self) { try OwnerListener(place, group: nil) }
    #expect(open?.message.contains("only this user may write to") == true)
    #expect(FileIdentity(of: folder.path + "/baton")?.permissions == 0o777)

    try FileManager.default.removeItem(atPath: folder.path + "/baton")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/baton", withDestinationPath: folder.path + "/elsewhere")
    let link = #expect(throws: SystemError.self) { try OwnerListener(place, group: nil) }
    #expect(link?.message.contains("only this user may write to") == true)
  }

  @Test("members of the group may write to it; where that cannot be, a warning says what to do")
  func group() throws {
    let listener = try OwnerListener(place, group: getegid())
    #expect(FileIdentity(of: place.path)?.permissions == 0o660 && listener.warning == nil)
    listener.remove()
    if geteuid() != 0 {
      let other = try OwnerListener(place, group: 4_000_000)
      #expect(other.warning?.contains("make the worker's user a member") == true)
      #expect(FileIdentity(of: place.path)?.permissions == 0o600)
    }
  }
}

private func connect(_ path: String) throws -> UnixSocket {
  let socket = try #require(UnixSocket.make())
  #expect(socket.connect(to: path) == 0)
  return socket
}

/// Sends a text as it is, and returns the answer.
private func raw(_ text: String, to path: String) async throws -> UnixSocket.Line {
  let socket = try connect(path)
  return try await onOwnThread {
    _ = socket.send(Array(text.utf8), until: .now + .seconds(60))
    return socket.line(atMost: 1 << 20, until: .now + .seconds(60))
  }
}

/// Asks for the status on an open connection, and returns the worker's name.
private func name(by socket: UnixSocket) async throws -> String? {
  let line = try await onOwnThread {
    _ = socket.send(Array("{\"command\": \"status\"}\n".utf8), until: .now + .seconds(60))
    return socket.line(atMost: 1 << 20, until: .now + .seconds(60))
  }
  guard case .line(let bytes) = line else { return nil }
  return try JSONDecoder().decode(OwnerAnswer.self, from: Data(bytes)).status?.name
}
