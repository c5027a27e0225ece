import ContractRows
import Foundation
import Testing

@testable import BatonWire

@Suite struct RuntimeFoldersTests {
  @Test func `clients look in the session's folder, in the unit's, and below tmp, from cron as well`() {
    let inSession = RuntimeFolders(environment: ["XDG_RUNTIME_DIR": "/run/user/7"], user: 7)
    let fromCron = RuntimeFolders(environment: [:], user: 7)
    #expect(inSession == fromCron)
    #expect(fromCron.paths == ["/run/user/7/baton", "/run/baton-coordinator", "/tmp/baton-7"])
    let elsewhere = RuntimeFolders(environment: ["XDG_RUNTIME_DIR": "/x"], user: 7)
    #expect(elsewhere.paths.first == "/x/baton" && elsewhere.paths.dropFirst().elementsEqual(fromCron.paths))
    let unit = RuntimeFolders(environment: ["RUNTIME_DIRECTORY": "/run/baton-coordinator:/run/more"], user: 7)
    #expect(unit.publishing == ["/run/baton-coordinator", "/run/user/7/baton", "/tmp/baton-7"])
    #expect(unit.paths == fromCron.paths)
  }

  @Test func `published data folders are found at each look, in folders that can be trusted only`() throws {
    try TemporaryFolder.with { good in
      try TemporaryFolder.with { bad in
        let folders = RuntimeFolders(paths: [good, bad, good + "/missing"])
        #expect(folders.dataFolders.isEmpty)
        let tokens = ["a", "b"].map { String(repeating: $0, count: 64) }
        try TokenFile.publish(tokens[0], port: 7420, dataFolder: "/srv/baton one", in: good)
        try TokenFile.publish(tokens[1], port: 7421, dataFolder: "/srv/two", in: bad)
        try TemporaryFolder.write("relative\n", to: good + "/1.data")
        #expect(folders.dataFolders == ["/srv/baton one", "/srv/two"])
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: bad)
        #expect(folders.dataFolders == ["/srv/baton one"])
        TokenFile.withdraw(tokens[0], port: 7420, from: good)
        #expect(folders.dataFolders.isEmpty)
      }
    }
  }

  @Test(
    .refuses(3),
    arguments: [
      (UInt32(7), UInt32(0o700), nil), (0, 0o700, nil), (7, 0o40700, nil), (7, 0o600, nil),
      (8, 0o700, "belongs to user 8"), (8, 0o777, "belongs to user 8"), (7, 0o750, "chmod 700 /f"),
      (7, 0o701, "chmod 700 /f"), (7, 0o1777, "mode 1777"), (0, 0o755, "chmod 700 /f"),
    ])
  func `only a folder of this user or root that admits no others is used`(
    owner: UInt32, mode: UInt32, problem: String?
  ) {
    let standing = RuntimeFolders(paths: [], user: 7).standing(of: "/f", owner: owner, mode: mode)
    guard let problem else { return #expect(standing == .trusted) }
    guard case .refused(let why) = standing else { return #expect(Bool(false), "\(standing)") }
    #expect(why.contains(problem))
  }

  @Test(.refuses(3)) func `nothing is taken from a folder that others can reach into, and the reason is told`() throws {
    try TemporaryFolder.with { folder in
      let folders = RuntimeFolders(paths: [folder])
      try TemporaryFolder.write("x", to: folder + "/7.token")
      #expect(folders.file("7.token") == folder + "/7.token")
      #expect(folders.refusals.isEmpty)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
      #expect(folders.file("7.token") == nil)
      #expect(folders.refusals.count == 1 && folders.refusals[0].contains("chmod 700 \(folder)"))
      #expect(throws: TokenFileError.self) { try folders.own() }
    }
  }

  @Test(.refuses(3)) func `a link is not followed: neither to a folder, nor to a file`() throws {
    try TemporaryFolder.with { folder in
      let files = FileManager.default
      try files.createDirectory(
        atPath: folder + "/real", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      try TemporaryFolder.write("x", to: folder + "/real/7.token")
      try files.createSymbolicLink(atPath: folder + "/link", withDestinationPath: folder + "/real")
      try files.createSymbolicLink(atPath: folder + "/real/8.token", withDestinationPath: folder + "/real/7.token")
      #expect(RuntimeFolders(paths: [folder + "/link"]).file("7.token") == nil)
      #expect(RuntimeFolders(paths: [folder + "/link"]).refusals.count == 1)
      let folders = RuntimeFolders(paths: [folder + "/real"])
      #expect(folders.file("7.token") != nil)
      #expect(folders.file("8.token") == nil)
      // A regular file in the place of a socket.
      #expect(folders.file("7.token", isSocket: true) == nil)
    }
  }

  @Test(.refuses(3), .enabled(if: geteuid() == 0, "only root can make a file another user's"))
  func `a file or a socket of another user is not taken, even in a folder that is trusted`() throws {
    try TemporaryFolder.with { folder in
      let folders = RuntimeFolders(paths: [folder])
      try TemporaryFolder.write("x", to: folder + "/7.token")
      #expect(mknod(folder + "/7.sock", S_IFSOCK | 0o600, 0) == 0)
      #expect(folders.file("7.token") != nil && folders.file("7.sock", isSocket: true) != nil)
      for name in ["7.token", "7.sock"] { #expect(lchown("\(folder)/\(name)", 65534, 65534) == 0) }
      #expect(folders.file("7.token") == nil)
      #expect(folders.file("7.sock", isSocket: true) == nil)
    }
  }

  @Test func `a coordinator makes its folder, and takes the next one where it cannot`() throws {
    try TemporaryFolder.with { folder in
      let folders = RuntimeFolders(paths: [folder + "/none/baton", folder + "/own"])
      for _ in 0..<2 {
        let own = try folders.own()
        #expect(own == folder + "/own")
      }
      #expect(folders.standing(of: folder + "/own") == .trusted)
      let error = #expect(throws: TokenFileError.self) { try RuntimeFolders(paths: [folder + "/none/baton"]).own() }
      #expect(error?.description.contains("\(folder)/none/baton cannot be made") == true)
    }
  }
}
