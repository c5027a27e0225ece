import BatonStore
import Foundation
import Testing

@testable import BatonDoctor

/// Tests with real files, a real store and the real host.
@Suite("What baton doctor reads")
struct ProbeTests {
  private static func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.path + "/baton-doctor-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  @Test("a folder is written to, and nothing stays in it")
  func folder() throws {
    try Self.withFolder { folder in
      let facts = FolderProbe.look(at: folder, syncing: .milliseconds(1))
      #expect(facts.exists && facts.isFolder && facts.failure == nil)
      #expect(facts.owner == geteuid() && facts.mode == 0o700)
      #expect((facts.syncs?.count ?? 0) > 0)
      #expect((facts.room?.freeBytes ?? 0) > 0 && facts.room?.isReadOnly == false)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(names.isEmpty)
      #expect(FolderProbe.look(at: folder, syncing: nil).syncs == nil)
    }
  }

  @Test("a folder that is not there is not made: the nearest that is there is looked at")
  func missing() throws {
    try Self.withFolder { folder in
      let facts = FolderProbe.look(at: folder + "/a/b", syncing: nil)
      #expect(!facts.exists && facts.nearest == folder && facts.failure == nil)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(names.isEmpty)
      try Data().write(to: URL(fileURLWithPath: folder + "/file"))
      #expect(!FolderProbe.look(at: folder + "/file/x", syncing: nil).isFolder)
    }
  }

  @Test("where no file can be made the system's words are told")
  func refused() {
    // Not even root can create files in this folder.
    let facts = FolderProbe.look(at: "/proc/self", syncing: nil)
    #expect(facts.failure != nil && facts.mount?.kind == "proc")
  }

  @Test("a page that is written in part means that there is no room, whatever the last error was")
  func partOfAPage() throws {
    try Self.withFolder { folder in
      let facts = FolderProbe.look(at: folder, syncing: nil) { _, page, _ in
        errno = EPERM
        return page.count / 2
      }
      #expect(facts.failure == "No space left on device")
    }
  }

  @Test("who has a store open is told without asking for its lock")
  func holder() throws {
    try Self.withFolder { folder in
      #expect(HostProbe.holder(of: folder) == nil)
      let store = try SQLiteStore.open(folder: folder)
      #expect(HostProbe.holder(of: folder) == getpid())
      #expect(StoreInspection(folder: folder).state != .missing)
      withExtendedLifetime(store) {}
    }
  }

  @Test("a lock that is another file's, another process's or of another kind is not taken for the store's")
  func locks() {
    let locks = """
      1: FLOCK  ADVISORY  WRITE 41 fe:00:77 0 EOF
      2: POSIX  ADVISORY  WRITE 42 fe:00:78 0 EOF
      2: -> FLOCK  ADVISORY  WRITE 43 fe:00:78 0 EOF
      """
    #expect(HostProbe.isLocked(inode: 77, by: 41, locks: locks))
    for (inode, pid) in [(77, 42), (78, 41), (78, 42), (78, 43), (7, 41)] as [(UInt64, Int32)] {
      #expect(!HostProbe.isLocked(inode: inode, by: pid, locks: locks))
    }
  }

  @Test("a token is looked at, and not read")
  func token() throws {
    try Self.withFolder { folder in
      let path = folder + "/token"
      #expect(HostProbe.token(path, .own).state == .missing)
      try Data("secret".utf8).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
      #expect(HostProbe.token(path, .own).state == .there(owner: geteuid(), mode: 0o640))
    }
  }

  @Test("the host says who, when, how much and which")
  func host() {
    #expect(HostProbe.user().id == geteuid())
    #expect(HostProbe.versions().sqlite.hasPrefix("3.") && HostProbe.versions().system.split(separator: " ").count == 3)
    #if os(Linux)
      #expect(HostProbe.clock().isSynchronised != nil)
    #endif
  }
}
