import BatonBase
import BatonModel
import BatonProcess
import FalseServer
import Foundation
import NIOCore
import Testing

@testable import BatonTransfers

/// Where files may come from and go to, and what is there already.
@Suite(.timeLimit(.minutes(5))) struct PlaceTests {
  private let place: Workplace
  private let file = FalseFile(Array("content".utf8))

  init() throws { place = try Workplace() }

  private func serving(_ body: (FalseServer) async throws -> Void) async throws {
    let server = try await FalseServer { [file] in file.answer(to: $0) }
    do {
      try await body(server)
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  private func engine(_ folders: String...) throws -> TransferEngine {
    try place.engine { $0.folders = folders.compactMap { PathPattern($0) } }
  }

  private func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: place.path(name), withIntermediateDirectories: true)
  }

  @Test func `a file that is there already is not replaced`() async throws {
    try await serving { server in
      try makeFolder("shared")
      try place.write([1], to: "shared/f")
      let ends = try await place.end(
        engine(place.path("shared/*")), Transfer(url: server.origin + "/f", to: place.path("shared/f")))
      #expect(ends.first?.code == .targetExists)
      #expect(place.contents(of: "shared/f") == [1])
      #expect(place.names(in: "shared") == ["f"])
    }
  }

  @Test func `a file that is there already and is the right one need not be fetched`() async throws {
    try makeFolder("shared")
    try place.write(file.bytes, to: "shared/f")
    var transfer = Transfer(url: "http://127.0.0.1:1/f", to: place.path("shared/f"))
    transfer.sha256 = file.bytes.sha256
    let ends = try await place.end(engine(place.path("shared/*")), transfer)
    #expect(ends.first?.file?.bytes == 7)
  }

  @Test func `a permitted folder gets the file, readable for others, and nothing else`() async throws {
    try await serving { server in
      try makeFolder("shared")
      let engine = try engine(place.path("shared/*"))
      let ends = await place.end(engine, Transfer(url: server.origin + "/f", to: place.path("shared/f")))
      #expect(ends.first?.file?.path == place.path("shared/f"))
      #expect(place.names(in: "shared") == ["f"])
      let mode = try FileManager.default.attributesOfItem(atPath: place.path("shared/f"))[.posixPermissions] as? Int
      #expect(mode == 0o644)
      // The file is the user's: the end of the request does not remove it.
      _ = engine.obey([.release(RequestID(7))])
      await place.run(engine) { $0.isEmpty }
      #expect(place.contents(of: "shared/f") == file.bytes)
    }
  }

  @Test func `a folder that is missing, not permitted, or no folder is refused`() async throws {
    try await serving { server in
      try makeFolder("shared")
      try place.write([1], to: "shared/file")
      let ends = try await place.end(
        engine(place.path("shared/**")), Transfer(url: server.origin + "/f", to: place.path("shared/missing/f")),
        Transfer(url: server.origin + "/f", to: place.path("f")),
        Transfer(url: server.origin + "/f", to: place.path("shared/file/f")))
      #expect(ends.map(\.code) == [.file, .notPermitted, .file])
    }
  }

  @Test(.enabled(if: geteuid() != 0, "root may write into every folder"))
  func `a folder that is not writable is refused before anything is fetched`() async throws {
    try makeFolder("shared")
    chmod(place.path("shared"), 0o500)
    let ends = try await place.end(
      engine(place.path("shared/*")), Transfer(url: "http://127.0.0.1:1/f", to: place.path("shared/f")))
    #expect(ends.first?.code == .file)
    #expect(ends.first?.text?.contains("cannot write into the folder") == true)
  }

  @Test func `a folder that nothing can be written to is refused before anything is fetched`() async throws {
    let ends = try await place.end(engine("/proc/*"), Transfer(url: "http://127.0.0.1:1/f", to: "/proc/f"))
    #expect(ends.first?.code == .file)
  }

  @Test func `a link leads no transfer out of its folder`() async throws {
    try await serving { server in
      try makeFolder("secret")
      try makeFolder("shared")
      try makeFolder("transfers/files/7")
      for link in ["shared/link", "transfers/files/7/link"] { symlink(place.path("secret"), place.path(link)) }
      symlink(place.path("secret/f"), place.path("shared/f"))
      symlink("/etc/passwd", place.path("shared/source"))
      let ends = try await place.end(
        engine(place.path("shared/**")),
        Transfer(url: server.origin + "/f", to: place.path("shared/link/f")),
        Transfer(url: server.origin + "/f", to: "link/f"),
        Transfer(url: server.origin + "/f", to: place.path("shared/f")),
        Transfer(url: server.origin + "/f", method: .put, file: place.path("shared/source")))
      #expect(ends.map(\.code) == [.notPermitted, .file, .targetExists, .file])
      #expect(place.names(in: "secret") == [])
    }
  }

  @Test func `a link in the place of a folder that was opened leads nowhere else`() throws {
    try makeFolder("own/a")
    try makeFolder("secret")
    let target = try FilePlace("a/f", below: place.path("own"))
    try FileManager.default.moveItem(atPath: place.path("own/a"), toPath: place.path("own/b"))
    symlink(place.path("secret"), place.path("own/a"))
    _ = try target.open(O_WRONLY | O_CREAT)
    #expect(place.contents(of: "own/b/f") == [])
    #expect(place.contents(of: "secret/f") == nil)
  }

  @Test func `a server that the owner does not permit is not asked, also not after a redirect`() async throws {
    try await serving { other in
      let server = try await FalseServer { _ in
        FalseAnswer(302, [("Location", "http://localhost:\(other.port)/f"), ("Content-Length", "0")])
      }
      let engine = try place.engine { $0.servers = ["127.0.0.1", "*.example.com"] }
      let ends = await place.end(
        engine, Transfer(url: server.origin + "/f", to: "f"), Transfer(url: "http://example.com/f", to: "g"))
      #expect(ends.map(\.code) == [.notPermitted, .notPermitted])
      await server.stop()
    }
  }

  @Test func `a secret that the owner does not permit is not read, and no message has its value`() async throws {
    try await serving { server in
      var transfer = Transfer(url: server.origin + "/f", to: "f")
      transfer.headers = ["Authorization": TransferHeader("", variable: "TOKEN")]
      var missing = Transfer(url: server.origin + "/f", to: "g")
      missing.headers = ["Authorization": TransferHeader("", secret: "nothing/here")]
      var wrong = Transfer(url: server.origin + "/f", to: "h")
      wrong.headers = ["X": TransferHeader("", variable: "BROKEN")]
      let engine = try place.engine(environment: ["TOKEN": "opensesame", "BROKEN": "a\nX: y"]) { settings in
        settings.variablePermissions = [
          SecretPermission(files: SecretPattern("BROKEN")!, identifiers: [IdentifierPattern("com.example.fetch")!])
        ]
      }
      let ends = await place.end(engine, transfer, missing, wrong)
      #expect(ends.map(\.code) == [.notPermitted, .notPermitted, .notPermitted])
      #expect(!ends.contains { $0.text?.contains("opensesame") == true || $0.text?.contains("X: y") == true })
    }
  }

  @Test func `a full disk is told from other errors`() async throws {
    guard SystemCall.exists("/dev/full") else { return }
    let journal = try TransferJournal(folder: place.path("full"))
    let full = PartialFile(OpenFile(try SystemCall.open("/dev/full", O_RDWR)), path: "/dev/full", journal, syncBytes: 1)
    try await full.append(ByteBuffer(bytes: [1, 2, 3]))
    let error = await #expect(throws: SystemError.self) { _ = try await full.sync() }
    guard case .noRoom? = error.map({ AttemptEnd.of($0) }) else {
      Issue.record("a full disk is \(String(describing: error))")
      return
    }
  }
}
