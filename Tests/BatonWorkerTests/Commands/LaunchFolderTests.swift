import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// A command that tampers with its launch's folder reaches nothing outside of it, and leaves nothing on the disk.
@Suite struct LaunchFolderTests {
  let fixture: CommandFixture
  let victim: String

  init() throws {
    fixture = try CommandFixture()
    victim = fixture.root + "/victim"
    try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
  }

  private var isUnharmed: Bool { (try? String(contentsOfFile: victim, encoding: .utf8)) == "precious" }

  @Test(.refuses(31), arguments: [ItemPassing.file, .stdin])
  func `a link in the place of the items is replaced, not written through`(pass: ItemPassing) async throws {
    let items = pass == .file ? "\"$1\"" : "/dev/stdin"
    let work = fixture.shell(
      "cat \(items); rm -f $TMPDIR/../items; ln -s \(victim) $TMPDIR/../items", items: .list(["a", "b", "c"]),
      pass: pass)
    #expect(try await fixture.run(work).output == "a\nb\nc\n")
    #expect(isUnharmed)
  }

  @Test(.refuses(31)) func `links in the place of the expiry's file are replaced, not written through`() async throws {
    let runtime = FakeRuntime()
    let script = """
      ln -s \(victim) $BATON_EXPIRY_FILE.part; ln -s \(victim) $BATON_EXPIRY_FILE; echo begin
      while ! grep -q draining $BATON_EXPIRY_FILE; do sleep 0.01; done; cat $BATON_EXPIRY_FILE; exit 1
      """
    _ = await fixture.expire(fixture.shell(script, items: .range(1...1)), on: runtime) {
      await runtime.waitForOutput("begin")
    } then: {
      await runtime.waitForOutput("draining")
    }
    #expect(isUnharmed)
  }

  @Test(.refuses(31)) func `links in the place of the folder and of the payload are not followed`() async throws {
    let elsewhere = fixture.root + "/elsewhere"
    try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: false)
    try Data("precious".utf8).write(to: URL(fileURLWithPath: elsewhere + "/payload"))
    let path = fixture.folders.launches + "/7-2"
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
    try await fixture.run(
      fixture.shell("cat $BATON_PAYLOAD_FILE", items: .range(1...1)), payload: Array("load".utf8))
    #expect(try String(contentsOfFile: elsewhere + "/payload", encoding: .utf8) == "precious")
    #expect(fixture.names(in: elsewhere) == ["payload"])
  }

  @Test func `a folder that was put in the place of the launch's gets nothing`() async throws {
    let folder = try LaunchFolder(fixture.folders.launches + "/9-1")
    let elsewhere = fixture.root + "/elsewhere"
    try FileManager.default.moveItem(atPath: folder.path, toPath: elsewhere)
    try FileManager.default.createSymbolicLink(atPath: folder.path, withDestinationPath: fixture.root + "/work")
    try folder.writeItems(Array("a\n".utf8))
    #expect(fixture.names(in: fixture.root + "/work") == [])
    #expect(fixture.names(in: elsewhere).contains("items"))
    await folder.remove()
    #expect(fixture.names(in: fixture.folders.launches) == [])
    #expect(!FileManager.default.fileExists(atPath: elsewhere), "also where it was moved to")
    #expect(FileManager.default.fileExists(atPath: fixture.root + "/work"), "the link's end stays")
  }

  @Test(arguments: [
    "mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a/b $TMPDIR/a", "touch $TMPDIR/x; chmod 0 $TMPDIR",
    "mkdir $TMPDIR/../sub; touch $TMPDIR/../sub/x; chmod 0500 $TMPDIR/../sub; chmod 0 $TMPDIR/..",
    "d=$(dirname $TMPDIR); mv $d $d.renamed", "mkdir $TMPDIR/../items; rm -rf $TMPDIR; ln -s / $TMPDIR",
    "cd $TMPDIR; for i in $(seq 300); do mkdir x; cd x; done; touch y; chmod 0 .",
  ])
  func `nothing stays on the disk`(script: String) async throws {
    try await fixture.run(fixture.shell(script, items: .range(1...1)))
    #expect(fixture.names(in: fixture.folders.launches) == [])
  }

  @Test func `what an earlier worker could not remove is removed at the next start`() throws {
    let path = fixture.folders.launches + "/old"
    try FileManager.default.createDirectory(atPath: path + "/a/b", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: path + "/link", withDestinationPath: fixture.root)
    for folder in ["/a", ""] { chmod(path + folder, 0) }
    fixture.folders.removeLeftovers()
    #expect(fixture.names(in: fixture.folders.launches) == [])
    #expect(isUnharmed)
  }

  // MARK: Spare folders

  private func spare(_ script: String) async throws -> [String] {
    let plain = fixture.runner(fixture.shell(script, items: .range(1...1)))
    let spares = SpareFolders(in: fixture.folders)
    try await CommandRunner(
      definition: plain.definition, assignment: plain.assignment, folders: fixture.folders, host: plain.host,
      processes: fixture.processes, spares: spares
    ).run(FakeRuntime())
    #expect(fixture.names(in: fixture.folders.launches) == [])
    return fixture.names(in: fixture.folders.spares)
  }

  #if os(Linux)
    @Test func `the folder of a command that leaves nothing is the next launch's`() async throws {
      let (first, second) = (fixture.folders.launches + "/9-1", fixture.folders.launches + "/9-2")
      let spares = SpareFolders(in: fixture.folders)
      let folder = try LaunchFolder(first, spares: spares)
      try folder.writeItems(Array("secret".utf8))
      await folder.remove()
      #expect(fixture.names(in: fixture.folders.launches) == [] && fixture.names(in: fixture.folders.spares) == ["1"])
      let next = try LaunchFolder(second, spares: spares)
      #expect(fixture.names(in: fixture.folders.spares) == [])
      #expect(fixture.names(in: second).sorted() == ["tmp", "work"])
      #expect(fixture.names(in: second + "/tmp") == [] && fixture.names(in: second + "/work") == [])
      await next.remove()
      // Something is in the way: the folder is made as if there were no spare one.
      try FileManager.default.createDirectory(atPath: first + "/x", withIntermediateDirectories: true)
      let third = try LaunchFolder(first, spares: spares)
      #expect(fixture.names(in: first).sorted() == ["tmp", "work"])
      await third.remove()
      fixture.folders.removeLeftovers()
      #expect(fixture.names(in: fixture.folders.data).sorted() == ["launches"])
      #expect(try await spare("true") == ["1"])
    }
  #endif

  @Test(
    .refuses(31),
    arguments: [
      "touch $TMPDIR/x", "mkdir $TMPDIR/../work/x", "touch $TMPDIR/../x", "chmod 755 $TMPDIR", "chmod 711 $TMPDIR/..",
      "chmod +t $TMPDIR/../work", "rmdir $TMPDIR", "rmdir $TMPDIR; ln -s / $TMPDIR", "rmdir $TMPDIR; touch $TMPDIR",
      "setfattr -n user.x -v y $TMPDIR || touch $TMPDIR/x", "setfacl -m u:1:rwx $TMPDIR/.. || touch $TMPDIR/x",
      "d=$(dirname $TMPDIR); mv $d $d.moved; mkdir -m 700 $d $d/tmp $d/work",
    ])
  func `a folder that a command has changed is no other launch's`(script: String) async throws {
    #expect(try await spare(script) == [])
  }
}
