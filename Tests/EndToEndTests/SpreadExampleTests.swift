import Foundation
import Testing

extension EndToEnd {
  @Suite("The example of a spread job gives what sha256sum gives", .timeLimit(.minutes(5)))
  struct SpreadExampleTests {
    private static let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Config/jobs").standardizedFileURL.path

    /// The folders of the files, in the place of /usr/share. The glob has a pattern for each.
    private static let folders = [
      "", "a/b c/d", "p", "po", "pol", "pq", "pollen", "pox", "polkit-1/actions", "ü/{a,b}", "* *", "$(HOME)",
    ]
    private static let oddNames = [
      "a b", " ", "-n", "*", "[x]?", "{a,b}", "it's", "\"q\"", "back\\slash", "two\nlines", "tab\t", "$HOME", "é", "日本",
      "~", "#", "a;b", "polkit",
    ]
    /// The example's glob leaves these out.
    private static let leftOut = [".hidden", "a/.hidden", ".folder/file", "polkit-1/rules.d/file", "polkit-1/file"]

    /// Everything that a test needs beside its fleet: the example with its script, the files, and a `sha256sum` that
    /// says which shard runs and then waits until the gate is open.
    private struct Job {
      let fleet: ProcessFleet
      /// The paths of the files, divided by zero bytes.
      private let list: String

      init(_ fleet: ProcessFleet) throws {
        self.fleet = fleet
        let manager = FileManager.default
        let root = fleet.folder + "/share"
        var paths: [String] = []
        func make(_ name: String) throws -> String {
          let url = URL(filePath: root + "/" + name)
          try manager.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
          try Data(name.utf8).write(to: url)
          return root + "/" + name
        }
        for folder in SpreadExampleTests.folders {
          for name in SpreadExampleTests.oddNames + (1...40).map({ "file\($0)" }) {
            paths.append(try make(folder.isEmpty ? name : folder + "/" + name))
          }
        }
        for name in SpreadExampleTests.leftOut { _ = try make(name) }
        // A link to a file counts as the file, and a link to a folder is not followed.
        try manager.createSymbolicLink(atPath: root + "/a/link", withDestinationPath: root + "/.hidden")
        try manager.createSymbolicLink(atPath: root + "/a/folder", withDestinationPath: root + "/pq")
        list = (paths + [root + "/a/link"]).joined(separator: "\0")
        try copyExample(root)
        try makeGate()
      }

      /// The example as it is, but for the folder where its glob begins.
      private func copyExample(_ root: String) throws {
        let text = try String(contentsOfFile: SpreadExampleTests.examples + "/spread.yaml", encoding: .utf8)
        let parts = text.components(separatedBy: "glob: \"/usr/share/")
        try #require(parts.count == 2, "the example has another glob")
        try fleet.write(parts.joined(separator: "glob: \"\(root)/"), to: "spread.yaml")
        try FileManager.default.copyItem(
          atPath: SpreadExampleTests.examples + "/spread.sh", toPath: fleet.folder + "/spread.sh")
      }

      private func makeGate() throws {
        mkfifo(fleet.folder + "/gate", 0o600)
        try FileManager.default.createDirectory(atPath: fleet.folder + "/bin", withIntermediateDirectories: true)
        // The gate can be opened for reading as soon as it is open for writing.
        try fleet.write(
          """
          #!/bin/sh
          echo "$BATON_HOST $BATON_SHARD" >'\(fleet.pipe.path)'
          : <'\(fleet.folder)/gate'
          PATH='\(SpreadExampleTests.path)' exec sha256sum "$@"

          """, to: "bin/sha256sum")
        chmod(fleet.folder + "/bin/sha256sum", 0o755)
      }

      /// The environment of the process that starts the commands.
      var environment: [String: String] { ["PATH": "\(fleet.folder)/bin:\(SpreadExampleTests.path)"] }

      /// Waits until so many commands run. None of them can go on before the gate is open.
      /// - Returns: the hosts and the shards of these commands; fewer if `baton run` ends before.
      func running(_ count: Int) async -> [(host: String, shard: String)] {
        var lines: [String] = []
        while lines.count < count {
          let line = await fleet.pipe.next()
          if line.isEmpty || line == "ended" { break }
          lines.append(line)
        }
        return lines.map { line in
          let words = line.split(separator: " ").map(String.init)
          return (words.first ?? "", words.last ?? "")
        }
      }

      /// Opens the gate for all commands. It stays open.
      func openGate() { _ = open(fleet.folder + "/gate", O_RDWR | O_CLOEXEC) }

      /// Runs the example to its end.
      func run(slots: Int) async throws -> (status: Int32, output: String, errors: String) {
        let ended = try await fleet.command(
          ["run", "spread.yaml", "--data", "state", "--slots", "\(slots)"], adding: environment)
        try? "ended\n".write(toFile: fleet.pipe.path, atomically: false, encoding: .utf8)
        return ended
      }

      /// Compares the result, as the head of the example says to read it, with what sha256sum says of the same files.
      func expectSameAsDirectly() async throws {
        try fleet.write(list, to: "list")
        func lines(_ script: String) async throws -> [Substring] {
          let script = "set -o pipefail; cd '\(fleet.folder)' && \(script)"
          let answer = await (try Child(path: "/bin/bash", ["-c", script], environment: ["LC_ALL": "C"])).finished()
          #expect(answer.status == 0, "\(answer.errors)")
          return answer.output.split(separator: "\n")
        }
        let expected = try await lines("xargs -0 sha256sum -- <list | sort -u")
        let result = try await lines("sort -u output/shards/*.txt")
        #expect(expected.count == list.split(separator: "\0").count && expected.count > 600)
        #expect(result == expected)
        // One file for each shard: no two shards wrote into the same one.
        let batches = (expected.count + 99) / 100
        let files = try FileManager.default.contentsOfDirectory(atPath: fleet.folder + "/output/shards")
        #expect(files.count == batches, "\(files)")
      }
    }

    private static let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"

    @Test("with baton run on four slots, on which four shards run at the same time")
    func slots() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let job = try Job(fleet)
      async let ended = job.run(slots: 4)
      let running = await job.running(4)
      job.openGate()
      let run = try await ended
      #expect(run.status == 0, "\(run.errors)")
      #expect(Set(running.map(\.shard)).count == 4, "\(running)")
      try await job.expectSameAsDirectly()
    }

    @Test("on a fleet of two hosts with two slots each, all of which work on it at the same time")
    func hosts() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let job = try Job(fleet)
      try await fleet.startCoordinator()
      for name in ["anna", "ben"] { try await fleet.startWorker(name, slots: 2, adding: job.environment) }
      let submitted = try await fleet.baton("submit", "-f", "spread.yaml")
      try #require(submitted.status == 0, "\(submitted.errors)")
      let running = await job.running(4)
      let shown = try await fleet.baton("show", "com.example.spread", "--shards")
      job.openGate()
      #expect(Set(running.map(\.shard)).count == 4, "\(running)")
      #expect(running.map(\.host).sorted() == ["anna", "anna", "ben", "ben"])
      for name in ["anna", "ben"] { #expect(shown.output.contains(name), "\(shown)") }
      let waited = try await fleet.baton("wait", "com.example.spread", "--timeout", "120s")
      #expect(waited.status == 0, "\(waited.errors)")
      try await job.expectSameAsDirectly()
    }
  }
}
