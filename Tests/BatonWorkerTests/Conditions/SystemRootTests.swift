import BatonProcess
import Foundation
import Testing

@Suite("Files of the system")
struct SystemRootTests {
  @Test("what is not there is missing, and a folder is no text")
  func missing() {
    let root = SystemRoot("/proc")
    #expect(root.text("no such file") == .missing)
    guard case .unreadable = root.text("self") else {
      Issue.record("a folder was read as text")
      return
    }
    #expect(root.string("self/comm")?.isEmpty == false)
    #expect(root.names(in: "self").contains("status"))
  }

  @Test("a program that is not there is missing, one that fails says how, one that hangs is ended")
  func commands() async {
    // Longer than a busy machine may take to start a program, so that only a program that never ends is ended.
    let patience = Duration.seconds(3600)
    #expect(await SystemCommand.system.run(["no-such-program"], .seconds(1)) == .missing)
    #expect(await SystemCommand.system.run(["printf", "%s", "on line"], patience) == .output("on line"))
    guard case .failed(let why) = await SystemCommand.system.run(["cat", "/no/such/file"], patience) else {
      Issue.record("cat succeeded")
      return
    }
    #expect(why.contains("/no/such/file"))
    let folder = FileManager.default.temporaryDirectory.path + "/baton-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // The background process is in the program's process group, and is ended with the program. Otherwise it would keep
    // the output open, and the command would not end.
    let left = await SystemCommand.system.run(["sh", "-c", "(sleep 3600; touch \(folder)) & echo done"], patience)
    #expect(left == .output("done\n"))
    let hung = await SystemCommand.system.run(["sleep", "3600"], .milliseconds(20))
    #expect(hung == .failed("sleep did not end within 20ms"))
  }
}
