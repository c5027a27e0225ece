import ContractRows
import Foundation
import Testing

/// Attacks of jobs on the worker that runs them, and on the people who look at them, with the real programs.
extension EndToEnd {
  @Suite("Attacks of jobs on the real programs are refused", .timeLimit(.minutes(10)))
  struct JobAttackTests {
    /// A coordinator and a worker on which jobs may run these commands and get the secret of the fleet's folder.
    private func started(adding more: [String: String] = [:]) async throws -> ProcessFleet {
      let fleet = try ProcessFleet()
      try await fleet.startCoordinator(lease: "15s")
      try await fleet.startWorker("desk", adding: more)
      return fleet
    }

    /// Submits a job and waits for its end.
    private func run(
      _ fleet: ProcessFleet, _ name: String, _ work: String, adding keys: String = ""
    ) async throws -> (status: Int32, output: String, errors: String) {
      try fleet.write("identifier: \(name)\nkind: processing\n\(keys)work:\n\(work)", to: "\(name).yaml")
      return try await fleet.baton("submit", "-f", "\(name).yaml", "--wait")
    }

    @Test("A pipe, a socket, a device or a folder as the list of items fails the launch at once", .refuses(28))
    func lines() async throws {
      let fleet = try await started()
      defer { fleet.stop() }
      let (pipe, socket) = (
        fleet.folder + "/pipe", fleet.folder + "/run/baton/\(fleet.address.split(separator: ":")[1]).sock"
      )
      #expect(mkfifo(pipe, 0o600) == 0 && FileManager.default.fileExists(atPath: socket))
      for (index, path) in [pipe, socket, "/dev/zero", fleet.folder].enumerated() {
        let ended = try await run(
          fleet, "com.lines.n\(index)", "  command: [\"true\"]\n  items: {lines: \(path)}\n",
          adding: "retry: {limit: 0}\n")
        #expect(ended.status == 1, "\(path): \(ended)")
        let shown = try await fleet.show("com.lines.n\(index)")
        #expect(shown.state == "failed" && shown.completedUnits == 0, "\(path): \(shown)")
        #expect(shown.launchHistory.allSatisfy { $0.reason?.contains(path) == true }, "\(path): \(shown)")
      }
      // The worker is free.
      let after = try await run(fleet, "com.lines.after", "  command: [\"true\"]\n")
      #expect(after.status == 0, "\(after)")
    }

    @Test("Links and records that a command leaves in its folders harm no file and no process", .refuses(31))
    func links() async throws {
      let fleet = try await started()
      defer { fleet.stop() }
      try fleet.write("kept", to: "victim")
      let victim = fleet.folder + "/victim"
      let bystander = try Child(path: "/bin/sleep", ["1000"])
      // It may have been started with SIGTERM ignored.
      defer { bystander.signal(SIGKILL) }
      // Earlier versions had a record of each command, with its start time.
      let stat = try String(contentsOfFile: "/proc/\(bystander.pid)/stat", encoding: .utf8)
      let started = try #require(stat.split(separator: ")").last?.split(separator: " ").dropFirst(19).first)
      let script = """
        rm -f "$BATON_ITEMS_FILE"; ln -s \(victim) "$BATON_ITEMS_FILE"
        d=$(dirname "$BATON_ITEMS_FILE")
        for f in expiry.json expiry.json.part payload items; do ln -sf \(victim) "$d/$f"; done
        mkdir -p \(fleet.folder)/desk/processes
        printf \(started) > \(fleet.folder)/desk/processes/\(bystander.pid)
        """
      let ended = try await run(
        fleet, "com.links",
        "  command: [/bin/sh, -c, '\(script.replacing("'", with: "''").replacing("\n", with: "; "))']\n"
          + "  items: {list: [a, b, c]}\n  batchSize: 1\n  pass: file\n", adding: "retry: {limit: 0}\n")
      #expect(ended.status == 0 || ended.status == 1, "\(ended)")
      #expect(try String(contentsOfFile: victim, encoding: .utf8) == "kept")
      // The next worker kills what the one before has left.
      fleet.worker("desk")?.signal(SIGKILL)
      _ = await fleet.worker("desk")?.finished()
      try await fleet.startWorker("desk")
      let after = try await run(fleet, "com.after", "  command: [\"true\"]\n")
      #expect(after.status == 0, "\(after)")
      #expect(bystander.process.isRunning)
    }

    @Test("A link that a command puts in the place of its launch's folder leads the worker nowhere", .refuses(31))
    func swappedFolder() async throws {
      let fleet = try await started()
      defer { fleet.stop() }
      let victim = fleet.folder + "/victim"
      try FileManager.default.createDirectory(atPath: victim + "/tmp", withIntermediateDirectories: true)
      for name in ["items", "payload", "expiry.json", "tmp/kept"] { try fleet.write("kept", to: "victim/\(name)") }
      // The first batch swaps the folder. The worker then writes the items of the second one, and removes the folder.
      let script = """
        d=$(dirname "$BATON_ITEMS_FILE"); cat "$BATON_ITEMS_FILE" >> \(fleet.folder)/got
        mv "$d" "$d.moved" && ln -s \(victim) "$d" && echo swapped >> \(fleet.folder)/got
        """
      let ended = try await run(
        fleet, "com.swap",
        "  command: [/bin/sh, -c, '\(script.replacing("'", with: "''").replacing("\n", with: "; "))']\n"
          + "  items: {list: [a, b]}\n  batchSize: 1\n  pass: file\n", adding: "retry: {limit: 0}\n")
      #expect(ended.status == 0 || ended.status == 1, "\(ended)")
      let got = try String(contentsOfFile: fleet.folder + "/got", encoding: .utf8)
      #expect(got.hasPrefix("a\nswapped\n"), "\(got)")
      for name in ["items", "payload", "expiry.json", "tmp/kept"] {
        #expect((try? String(contentsOfFile: victim + "/" + name, encoding: .utf8)) == "kept", "\(name)")
      }
      let after = try await run(fleet, "com.after", "  command: [\"true\"]\n")
      #expect(after.status == 0, "\(after)")
    }

    @Test("A program that is swapped all the time runs only as the file that the owner permits", .refuses(32))
    func swappedProgram() async throws {
      let tools = NSTemporaryDirectory() + "baton-tools-\(UUID().uuidString.prefix(8))"
      for name in ["bin", "evil"] {
        try FileManager.default.createDirectory(atPath: "\(tools)/\(name)", withIntermediateDirectories: true)
      }
      defer { try? FileManager.default.removeItem(atPath: tools) }
      let fleet = try await started(adding: ["BATON_ALLOW_COMMANDS": "\(tools)/bin/*"])
      defer { fleet.stop() }
      for (path, word) in [("bin/tool", "good"), ("evil/tool", "evil")] {
        try "#!/bin/sh\necho x >> \(fleet.folder)/\(word)\n".write(
          toFile: "\(tools)/\(path)", atomically: false, encoding: .utf8)
        chmod("\(tools)/\(path)", 0o755)
      }
      // Half of the time the name is a link to the other program: between the worker's check and the start too.
      let swapper = try Child(
        path: "/usr/bin/python3",
        [
          "-c",
          """
          import ctypes, os
          os.chdir("\(tools)")
          os.symlink("\(tools)/evil/tool", "link")
          exchange = ctypes.CDLL(None).renameat2
          while True: exchange(-100, b"link", -100, b"bin/tool", 2)
          """,
        ])
      defer { swapper.signal(SIGKILL) }
      func ran(_ word: String) -> Bool { FileManager.default.fileExists(atPath: fleet.folder + "/" + word) }
      var number = 0
      while number < 40 || (!ran("good") && number < 400) {
        let ended = try await run(
          fleet, "com.tools.n\(number)", "  command: [\(tools)/bin/tool]\n", adding: "retry: {limit: 0}\n")
        // It ran, or the worker refused what it found.
        #expect(ended.status == 0 || ended.status == 1, "\(ended)")
        number += 1
      }
      #expect(ran("good"), "the control: the permitted file runs")
      #expect(!ran("evil"))
    }

    @Test(
      "A command that is not on the owner's list does not run, also not through a link or by its bare name",
      .refuses(32))
    func permissions() async throws {
      let tools = NSTemporaryDirectory() + "baton-tools-\(UUID().uuidString.prefix(8))"
      try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: tools) }
      try FileManager.default.createSymbolicLink(atPath: tools + "/tool", withDestinationPath: "/bin/sh")
      let fleet = try await started(adding: ["BATON_ALLOW_COMMANDS": "\(tools)/*,/usr/bin/true,/bin/true"])
      defer { fleet.stop() }
      let control = try await run(fleet, "com.tools.permitted", "  command: [\"true\"]\n")
      #expect(control.status == 0, "\(control)")
      for (index, program) in ["/bin/sh", "sh", "/usr/bin/../bin/sh", tools + "/tool"].enumerated() {
        let name = "com.tools.n\(index)"
        try fleet.write(
          "identifier: \(name)\nkind: processing\nretry: {limit: 0}\nwork:\n"
            + "  command: [\(program), -c, 'echo x > \(fleet.folder)/ran']\n", to: "\(name).yaml")
        let submitted = try await fleet.baton("submit", "-f", "\(name).yaml")
        #expect(submitted.status == 0, "\(submitted)")
        // Either the coordinator knows that no host takes it, or the worker refuses it.
        while true {
          let explained = try await fleet.baton("explain", name)
          if (explained.output + explained.errors).contains("does not permit") { break }
          if try await fleet.show(name).state == "failed" { break }
          await Task.yield()
        }
        #expect(!FileManager.default.fileExists(atPath: fleet.folder + "/ran"), "\(program)")
      }
    }

    /// A command line that runs a program where namespaces are forbidden, or as it is on a machine that forbids them
    /// itself; `nil` if this machine does neither.
    private static let weakHost: [String]? = {
      let forbidding = "echo 0 > /proc/sys/user/max_pid_namespaces"
      if system("unshare --user --map-root-user sh -c '\(forbidding)' >/dev/null 2>&1") == 0 {
        return ["/usr/bin/unshare", "--user", "--map-root-user", "sh", "-c", "\(forbidding) && exec \"$@\"", "-"]
      }
      let probe = Program.worker.path.dropLast("baton-worker".count) + "baton-exec --probe"
      return system("\(probe) | grep -q '^basic: '") == 0 ? ["/usr/bin/env"] : nil
    }()

    @Test(
      "Where a host cannot give the sandbox that a job demands, the job has an obstacle and does not run with less",
      .refuses(33), .enabled("this machine gives 'strict' to root alone, and nothing less", { weakHost != nil }))
    func weakSandbox() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(lease: "15s")
      let line =
        try #require(Self.weakHost) + [
          Program.worker.path, "--coordinator", fleet.address, "--name", "weak", "--data", "\(fleet.folder)/weak",
        ]
      let worker = try Child(
        path: line[0], Array(line.dropFirst()),
        environment: fleet.environment.merging(["BATON_SANDBOX_REQUIRE": "basic"]) { $1 }, isDaemon: true)
      defer { worker.stop() }
      #expect(await worker.errorLine(containing: "connected to the coordinator") != "")
      try fleet.write(
        "identifier: com.strict\nkind: processing\nwork:\n  command: [touch, \(fleet.folder)/weak/ran]\n"
          + "  sandbox: strict\n",
        to: "strict.yaml")
      #expect(try await fleet.baton("submit", "-f", "strict.yaml").status == 0)
      let explained = try await fleet.baton("explain", "com.strict")
      #expect(explained.output.contains("sandboxUnavailable"), "\(explained)")
      // A job that demands less runs there: the host is not merely unable to run anything.
      let weak = try await run(fleet, "com.weak", "  command: [\"true\"]\n")
      #expect(weak.status == 0, "\(weak)")
      #expect(try await fleet.show("com.strict").launches == 0)
      #expect(!FileManager.default.fileExists(atPath: fleet.folder + "/weak/ran"))
    }

    @Test(
      "The value of a secret is in no output, failure, span, log, file or environment of another process", .refuses(34))
    func secrets() async throws {
      let value = "hunter2-\(UUID().uuidString)"
      let folder = NSTemporaryDirectory() + "baton-secrets-\(UUID().uuidString.prefix(8))"
      try FileManager.default.createDirectory(
        atPath: folder + "/db", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try value.write(toFile: folder + "/db/password", atomically: false, encoding: .utf8)
      chmod(folder + "/db/password", 0o600)
      let fleet = try await started(adding: [
        "BATON_SECRETS_FOLDER": folder, "BATON_ALLOW_SECRETS": "db/*=com.secret.*", "BATON_LOG_LEVEL": "trace",
      ])
      defer { fleet.stop() }
      // The command itself stays until the test has looked at every process.
      let script =
        "v=$(cat /dev/fd/$DB_PASSWORD_FD); test \"$v\" = \"$API\" && echo same; echo out $v; echo err $v >&2; "
        + "cd \(fleet.folder); ulimit -H -c > cores; echo $$ > pid; mv pid running; read x < go; exit 3"
      #expect(mkfifo(fleet.folder + "/go", 0o600) == 0)
      async let seen = processes(with: value, while: fleet)
      let ended = try await run(
        fleet, "com.secret.job",
        "  command: [/bin/sh, -c, '\(script)']\n  secrets:\n    DB_PASSWORD: {file: db/password}\n"
          + "    API: {file: db/password, as: environment}\n", adding: "retry: {limit: 0}\n")
      #expect(ended.status == 1, "\(ended)")
      #expect(try await seen == ["\(try Self.text("running", fleet)) environ"])
      #expect(try Self.text("cores", fleet) == "0")
      let logs = try await fleet.baton("logs", "com.secret.job")
      #expect(logs.output.contains("same") && logs.output.contains("out \u{2022}\u{2022}\u{2022}"), "\(logs)")
      for command in [
        ["logs", "com.secret.job"], ["show", "com.secret.job"], ["show", "com.secret.job", "-o", "json"],
        ["list", "--all", "-o", "json"], ["explain", "com.secret.job"], ["trace", "com.secret.job", "-o", "json"],
        ["audit"],
      ] {
        let said = try await fleet.command(command)
        #expect(!(said.output + said.errors).contains(value), "\(command)")
      }
      // What the coordinator, the worker and their folders keep.
      for child in [fleet.coordinator, fleet.worker("desk")].compactMap({ $0 }) {
        for pid in [child.pid] + child.children {
          for file in ["environ", "cmdline"] {
            let text = FileManager.default.contents(atPath: "/proc/\(pid)/\(file)") ?? Data()
            #expect(text.range(of: Data(value.utf8)) == nil, "\(file)")
          }
        }
      }
      let files = try FileManager.default.subpathsOfDirectory(atPath: fleet.folder)
      #expect(files.contains { $0.hasSuffix("baton.sqlite") })
      for file in files {
        let path = fleet.folder + "/" + file
        guard (try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType) == .typeRegular
        else {
          continue
        }
        #expect((FileManager.default.contents(atPath: path) ?? Data()).range(of: Data(value.utf8)) == nil, "\(file)")
      }
    }

    private static func text(_ name: String, _ fleet: ProcessFleet) throws -> String {
      try String(contentsOfFile: fleet.folder + "/" + name, encoding: .utf8).trimmingCharacters(in: .newlines)
    }

    /// The processes of this machine that have the value in their arguments or environment while the job runs. The
    /// command is let go afterwards.
    private func processes(with value: String, while fleet: ProcessFleet) async throws -> [String] {
      while !FileManager.default.fileExists(atPath: fleet.folder + "/running") { await Task.yield() }
      var found: [String] = []
      for pid in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int32(pid) != nil {
        for file in ["cmdline", "environ"] {
          let text = FileManager.default.contents(atPath: "/proc/\(pid)/\(file)") ?? Data()
          if text.range(of: Data(value.utf8)) != nil { found.append("\(pid) \(file)") }
        }
      }
      close(open(fleet.folder + "/go", O_WRONLY))
      return found
    }

    @Test("No text of a job acts on the terminal of a person who looks at it with baton", .refuses(35))
    func texts() async throws {
      let fleet = try await started()
      defer { fleet.stop() }
      let hostile = "\\e[2J\\e]0;owned\\a\\u202e\\x9b31m"
      let ended = try await run(
        fleet, "com.hostile.text",
        "  command: [/bin/sh, -c, 'printf \"\\033[2J\\033]0;owned\\007\\302\\2333\"; "
          + "printf \"\\033[2Jfailed\\n\" >&2; exit 3']\n",
        adding: "title: \"\(hostile)\"\nretry: {limit: 0}\n")
      #expect(ended.status != 0, "\(ended)")
      // The file may be refused; then the job has a plain title, and hostile output and failure.
      if try await fleet.baton("show", "com.hostile.text").status != 0 {
        #expect(
          try await run(
            fleet, "com.hostile.text",
            "  command: [/bin/sh, -c, 'printf \"\\033[2J\\033]0;owned\\007\" >&2; exit 3']\n",
            adding: "retry: {limit: 0}\n"
          ).status == 1)
      }
      let commands = [
        ["show", "com.hostile.text"], ["list", "--all"], ["explain", "com.hostile.text"],
        ["trace", "com.hostile.text"],
        ["hosts"],
        ["audit"], ["show", "\u{1B}[2J"], ["submit", "com.\u{1B}[2Jx"], ["host", "revoke", "\u{1B}]0;x\u{7}"],
      ]
      for command in commands {
        for format in [[], ["-o", "json"]] where !(["submit", "host"].contains(command[0]) && format.count > 0) {
          let words = command + format
          let plain = try await fleet.command(words)
          // In a terminal, whose colours and hyperlinks are the program's own.
          let line = ([Program.baton.path] + words).map { "'\($0)'" }.joined(separator: " ")
          let terminal = await
            (try Child(
              path: "/usr/bin/script", ["-qec", line, "/dev/null"],
              environment: fleet.environment.merging(["NO_COLOR": "1", "TERM": "xterm"]) { $1 })).finished()
          for said in [plain.output, plain.errors, terminal.output] {
            #expect(
              !said.contains("\u{1B}[2J") && !said.contains("\u{1B}]0;") && !said.contains("\u{7}"),
              "\(words): \(said.debugDescription)")
            #expect(!said.unicodeScalars.contains { $0.value == 0x9B || $0.value == 0x202E }, "\(words)")
          }
        }
      }
    }
  }
}
