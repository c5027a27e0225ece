import ContractRows
import Foundation
import HostFixtures
import Testing

/// What the real binaries write for people, and the exit statuses that they give to scripts.
extension EndToEnd {
  @Suite("The command line tells what is wrong and what to do", .timeLimit(.minutes(10)))
  struct CommandLineTests {
    @Test("No coordinator listens: status 69, and the message says how to start one")
    func unreachable() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let answer = try await fleet.baton("list", "--coordinator", "127.0.0.1:1")
      #expect(answer.status == 69)
      #expect(answer.errors.contains("baton coordinator"))
    }

    @Test("A typo in the YAML: status 65 with position and suggestion, and nothing is applied")
    func typo() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      try fleet.write("identifier: com.example.a\nkind: refresh\nrequireExternalPower: true\n", to: "a.yaml")
      let answer = try await fleet.baton("apply", "a.yaml")
      #expect(answer.status == 65)
      #expect(
        answer.errors.contains(
          "a.yaml:3:1: error: unknown key 'requireExternalPower', did you mean 'requiresExternalPower'?"))
      #expect(try await fleet.baton("show", "com.example.a").status == 3)
    }

    @Test(
      "An unknown command of baton-worker: status 64, with the most similar command",
      arguments: [["stauts"], ["help", "stauts"]])
    func unknownWorkerCommand(words: [String]) async throws {
      let answer = try await Child(.worker, words).finished()
      #expect(answer.status == 64 && answer.output.isEmpty, "\(answer)")
      #expect(answer.errors.hasPrefix("baton-worker: 'baton-worker' has no command 'stauts', did you mean 'status'?"))
    }

    @Test("In bash, the script of 'baton completion' completes hosts, identifiers and options from the coordinator")
    func completion() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      try fleet.write(
        "identifier: com.example.nightly\nkind: continued\ntitle: Nightly\nwork: {command: [\"true\"]}\n",
        to: "job.yaml")
      #expect(try await fleet.baton("apply", "job.yaml").status == 0)
      try fleet.write(try await fleet.baton("completion", "bash").output, to: "completion.bash")
      var environment = fleet.environment
      let folder = URL(fileURLWithPath: Program.baton.path).deletingLastPathComponent().path
      environment["PATH"] = folder + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
      func completed(_ words: String...) async throws -> [Substring] {
        let line = words.joined(separator: " ")
        let script = """
          source completion.bash
          COMP_WORDS=(\(line)) COMP_CWORD=\(words.count - 1) COMP_LINE='\(line)' COMP_POINT=\(line.utf8.count)
          $(complete -p baton | sed 's/.*-F \\([^ ]*\\).*/\\1/') baton '\(words.last ?? "")' '\(words.dropLast().last ?? "")'
          printf '%s\\n' "${COMPREPLY[@]}"
          """
        let answer = try await Child(
          path: "/bin/bash", ["-c", script], environment: environment, currentDirectory: fleet.folder
        ).finished()
        #expect(answer.errors.isEmpty, "\(answer.errors)")
        return answer.output.split(separator: "\n")
      }
      #expect(try await completed("baton", "submit", "com.ex") == ["com.example.nightly"])
      #expect(try await completed("baton", "show", "com.example.n") == ["com.example.nightly"])
      #expect(try await completed("baton", "remove", "com") == ["com.example.nightly"])
      #expect(try await completed("baton", "undr").contains { $0.hasPrefix("undrain") })
      #expect(try await completed("baton", "logs", "--foll").contains { $0.hasPrefix("--follow") })
      try await fleet.startWorker("anna")
      #expect(try await completed("baton", "drain", "an") == ["anna"])
      fleet.coordinator?.stop()
      #expect(try await completed("baton", "drain", "an").isEmpty, "without a coordinator there are no words")
    }

    @Test("A coordinator's folder is no worker's, and the other way about: BATON_DATA means both", .onSQLiteOnly)
    func sharedFolder() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      var environment = fleet.environment
      environment["BATON_DATA"] = fleet.folder + "/coordinator"
      let worker = try Child(.worker, ["--name", "anna"], environment: environment, isDaemon: true)
      #expect(await worker.errorLine(containing: "is that of a coordinator").contains("BATON_DATA means both"))
      worker.stop()
      environment["BATON_DATA"] = fleet.folder + "/alone"
      try FileManager.default.createDirectory(atPath: fleet.folder + "/alone", withIntermediateDirectories: true)
      try fleet.write("", to: "alone/worker.lock")
      environment["BATON_STORE"] = "sqlite"
      let coordinator = try await Child(
        .baton, ["coordinator", "--listen", "127.0.0.1:0", "--http", "off"], environment: environment
      ).finished()
      #expect(coordinator.status == 78, "\(coordinator)")
      #expect(coordinator.errors.contains("is that of a worker"), "\(coordinator)")
      #expect(!FileManager.default.fileExists(atPath: fleet.folder + "/alone/baton.sqlite"))
    }

    @Test("Another token than the coordinator's is refused with status 77")
    func token() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      var environment = fleet.environment
      environment["BATON_TOKEN_FILE"] = fleet.folder + "/token"
      for (text, problem) in [
        (String(repeating: "not the token ", count: 4), "BATON_TOKEN_FILE"), ("short\n", "can be guessed"),
        ("", "is empty"),
      ] {
        try fleet.write(text, to: "token")
        chmod(fleet.folder + "/token", 0o600)
        let answer = try await Child(.baton, ["list"], environment: environment).finished()
        #expect(answer.status == 77, "\(answer)")
        #expect(answer.errors.contains(problem), "\(answer)")
      }
      environment["BATON_TOKEN_FILE"] = fleet.folder + "/coordinator/token"
      let named = try await Child(.baton, ["list"], environment: environment).finished()
      #expect(named.status == 0, "\(named)")
      // Another user finds no socket, and the token is of no use without it.
      environment["XDG_RUNTIME_DIR"] = fleet.folder
      let none = try await Child(.baton, ["list"], environment: environment).finished()
      #expect(none.status == 69 && none.errors.contains("\(fleet.folder)/baton/"), "\(none)")
      let own = try await fleet.baton("list")
      #expect(own.status == 0, "\(own.errors)")
    }

    @Test("doctor asks the coordinator that the worker would connect to, with the worker's token")
    func doctor() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      var environment = fleet.environment
      environment["BATON_COORDINATOR"] = nil
      try fleet.write(
        "coordinator: \(fleet.address)\ntokenFile: \(fleet.folder)/coordinator/token\ndata: \(fleet.folder)/anna\n",
        to: "worker.yaml")
      let arguments = ["doctor", "--role", "worker", "--worker-config", fleet.folder + "/worker.yaml"]
      let answer = try await Child(.baton, arguments, environment: environment).finished()
      #expect(answer.output.contains("the coordinator at \(fleet.address) has"), "\(answer)")
      let other = try await Child(.baton, arguments + ["--coordinator", "127.0.0.1:1"], environment: environment)
        .finished()
      #expect(other.output.contains("no coordinator answers at 127.0.0.1:1"), "\(other)")
    }

    @Test("A second coordinator on the same data, and one on a port in use, are refused with a reason")
    func second() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      let data = fleet.folder + "/coordinator"
      let same = try await fleet.baton("coordinator", "--data", data, "--listen", "127.0.0.1:0", "--http", "off")
      #expect(same.status == 75)
      #expect(same.errors.contains("in use by process"))
      let port = try await fleet.baton("coordinator", "--data", data + "2", "--listen", fleet.address, "--http", "off")
      #expect(port.status == 75)
      #expect(port.errors.contains("\(fleet.address) is in use"), "\(port.errors)")
      let up = try await fleet.baton("up", "--data", fleet.folder + "/up", "--listen", fleet.address, "--http", "off")
      #expect(up.status == 75, "\(up)")
      #expect(up.errors.contains("is in use"))
    }

    @Test(
      "A store that no restart can open ends the coordinator with status 78", .onSQLiteOnly, arguments: [true, false])
    func unusableStore(isFile: Bool) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      if isFile {
        try fleet.write("not a folder", to: "data")
      } else {
        try FileManager.default.createDirectory(atPath: fleet.folder + "/data", withIntermediateDirectories: true)
        try fleet.write(String(repeating: "not a database ", count: 1_000), to: "data/baton.sqlite")
      }
      let answer = try await fleet.baton(
        "coordinator", "--data", fleet.folder + "/data", "--listen", "127.0.0.1:0", "--http", "off")
      #expect(answer.status == 78, "\(answer)")
      #expect(
        answer.errors.contains(isFile ? "is not a folder" : "The file is damaged, or is not a database"), "\(answer)")
    }

    @Test("A coordinator whose HTTP port is in use does not say that it listens")
    func httpInUse() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let port = ProcessFleet.freePort()
      try await fleet.startCoordinator(http: "127.0.0.1:\(port)")
      let other = try await fleet.baton(
        "coordinator", "--data", fleet.folder + "/other", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:\(port)")
      #expect(other.status == 75)
      #expect(other.errors.contains("127.0.0.1:\(port) is in use"), "\(other.errors)")
      #expect(!other.errors.contains("listens on"), "\(other.errors)")
    }

    @Test(
      "A data folder or an authority that others can read ends the coordinator with status 78 (attack T39)",
      .refuses(39))
    func exposedAuthority() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let data = fleet.folder + "/coordinator"
      try await fleet.startCoordinator()
      fleet.coordinator?.signal(SIGTERM)
      _ = await fleet.coordinator?.finished()
      for (path, mode, right) in [(data, 0o755, 0o700), (data, 0o701, 0o700), (data + "/authority.pem", 0o640, 0o600)] {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let answer = try await fleet.baton("coordinator", "--data", data, "--listen", "127.0.0.1:0", "--http", "off")
        #expect(answer.status == 78 && !answer.errors.contains("listens on"), "\(answer)")
        #expect(answer.errors.contains("\(path) has mode \(String(mode, radix: 8))"), "\(answer.errors)")
        #expect(answer.errors.contains("chmod \(String(right, radix: 8)) \(path)"), "\(answer.errors)")
        try FileManager.default.setAttributes([.posixPermissions: right], ofItemAtPath: path)
      }
    }

    @Test(
      "A token file that is empty after a power cut, or readable by others, ends the coordinator with status 78",
      .refuses(22),
      arguments: [("", 0o600, "coordinator/token is empty"), (String(repeating: "a", count: 64), 0o644, "chmod 600")])
    func refusedToken(text: String, mode: Int, problem: String) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try FileManager.default.createDirectory(
        atPath: fleet.folder + "/coordinator", withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      _ = FileManager.default.createFile(
        atPath: fleet.folder + "/coordinator/token", contents: Data(text.utf8), attributes: [.posixPermissions: mode])
      let answer = try await fleet.baton(
        "coordinator", "--data", fleet.folder + "/coordinator", "--listen", "127.0.0.1:0", "--http", "off")
      #expect(answer.status == 78)
      #expect(answer.errors.contains(problem), "\(answer.errors)")
    }

    @Test("Twice as many silent connections as descriptors: the coordinator lives, and answers", .refuses(4))
    func flood() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let limit = 256
      try await fleet.startCoordinator(descriptors: limit)
      try await fleet.startWorker("one")
      let port = Int(fleet.address.split(separator: ":")[1])!
      let connections = (0..<2 * limit).map { _ in ProcessFleet.connection(to: port) }
      defer { for connection in connections { close(connection) } }
      #expect(connections.allSatisfy { $0 >= 0 })
      let list = try await fleet.baton("list")
      #expect(list.status == 0, "\(list)")
      let hosts = try await fleet.baton("hosts")
      #expect(hosts.status == 0 && hosts.output.contains("one"), "\(hosts)")
      #expect(fleet.coordinator?.process.isRunning == true)
    }

    @Test(
      "A worker sends nothing to another program on the coordinator's port, and reconnects when the coordinator is back",
      .refuses(1, 2)
    )
    func squattedPort() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(servesOthers: true)
      try await fleet.join("one")
      let address = fleet.address
      fleet.coordinator?.signal(SIGKILL)
      _ = await fleet.coordinator?.finished()
      // The coordinator of another user, with another authority.
      var environment = fleet.environment
      environment["XDG_RUNTIME_DIR"] = fleet.folder
      let squatter = try Child(
        .baton, ["coordinator", "--data", fleet.folder + "/squatter", "--listen", address, "--http", "off"],
        environment: environment, isDaemon: true)
      _ = await squatter.errorLine(containing: "listens on")
      let list = try await fleet.baton("list")
      #expect(list.status == 69, "\(list)")
      let worker = try Child(
        .worker, ["--coordinator", address, "--data", fleet.folder + "/one"], environment: fleet.environment,
        isDaemon: true)
      defer { worker.stop() }
      let line = await worker.errorLine(containing: "is not a coordinator of the fleet")
      #expect(!line.isEmpty)
      squatter.stop()
      try await fleet.startCoordinator(servesOthers: true)
      while try await fleet.baton("hosts", "-o", "jsonl").output.contains(#""name":"one""#) == false {
        await Task.yield()
      }
    }

    @Test("HTTP listens on loopback only, because it has no TLS")
    func loopback() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let answer = try await fleet.baton(
        "coordinator", "--data", fleet.folder + "/c", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0")
      #expect(answer.status == 77, "\(answer)")
      #expect(answer.errors.contains("loopback"))
    }

    @Test(
      "An operator logs in with a token, may do what its credential permits, and nothing after it is revoked",
      .refuses(20))
    func people() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator(servesOthers: true)
      try fleet.write(
        "identifier: com.example.a.*\nkind: processing\nwork: {command: ['true']}\n", to: "a.yaml")
      let applied = try await fleet.baton("apply", "a.yaml")
      #expect(applied.status == 0, "\(applied)")
      let created = try await fleet.baton(
        "credential", "create", "alice", "--scope", "submit", "--pattern", "com.example.*")
      let pin = try #require(try await fleet.baton("fleet").output.firstMatch(of: /sha256:[0-9a-f]{64}/)?.0)
      try fleet.write(created.output, to: "token")
      chmod(fleet.folder + "/token", 0o600)
      // Alice is another user: neither the socket nor the token of the data folder is hers.
      let alice = [
        "PATH": "/usr/bin:/bin", "HOME": fleet.folder + "/alice", "XDG_RUNTIME_DIR": fleet.folder + "/alice",
      ]
      func asAlice(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
        try await Child(.baton, arguments, environment: alice).finished()
      }
      let wrong = "sha256:" + String(repeating: "0", count: 64)
      let stranger = try await asAlice(
        "login", fleet.operators, "--pin", wrong, "--token-file", fleet.folder + "/token")
      #expect(stranger.status == 77 && stranger.errors.contains("nothing was sent"), "\(stranger)")
      let login = try await asAlice(
        "login", fleet.operators, "--pin", String(pin), "--token-file", fleet.folder + "/token")
      #expect(login.status == 0 && login.output.contains("as alice"), "\(login)")
      let who = try await asAlice("whoami")
      #expect(who.output.contains("submit") && who.output.contains("com.example.*"), "\(who)")
      let submitted = try await asAlice("submit", "com.example.a.x")
      #expect(submitted.status == 0, "\(submitted)")
      #expect(try await fleet.baton("show", "com.example.a.x").output.contains("alice"))
      let paused = try await asAlice("pause")
      #expect(paused.status == 77 && paused.errors.contains("needs the scope 'operate'"), "\(paused)")
      #expect(try await asAlice("show", "com.other").status == 3)
      let revoked = try await fleet.baton("credential", "revoke", "alice")
      #expect(revoked.status == 0, "\(revoked)")
      let after = try await asAlice("list")
      #expect(after.status == 77, "\(after)")
      let audit = try await fleet.baton("audit").output
      for row in ["CreateCredential  alice", "com.example.a.x", "denied", "RevokeCredential  alice"] {
        #expect(audit.contains(row), "\(audit)")
      }
      let verdict = try await fleet.baton("audit", "verify")
      #expect(verdict.status == 0, "\(verdict)")
      // The same after a restart.
      fleet.coordinator?.signal(SIGKILL)
      _ = await fleet.coordinator?.finished()
      try await fleet.startCoordinator(servesOthers: true)
      #expect(try await asAlice("list").status == 77)
    }

    @Test("A payload reaches the command, and what it writes is kept for logs")
    func payload() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      try await fleet.startWorker("one")
      try fleet.write(
        """
        identifier: com.example.payload.*
        kind: continued
        title: Reading a payload
        work: {command: [/bin/sh, -c, 'echo "${wildcard} $(cat "$BATON_PAYLOAD_FILE")"']}
        """, to: "payload.yaml")
      #expect(try await fleet.baton("apply", "payload.yaml").status == 0)
      let answer = try await fleet.baton("submit", "com.example.payload.x", "--payload", #"{"size": 7}"#, "--wait")
      #expect(answer.status == 0, "\(answer.errors)")
      #expect(try await fleet.baton("logs", "com.example.payload.x").output == "x {\"size\": 7}\n")
      #expect(try await fleet.baton("submit", "com.example.payloads.x").status == 77)
    }

    @Test("The spelling that validate advises for a shell variable reaches the shell")
    func advisedText() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      func job(_ name: String) -> String {
        """
        identifier: com.example.transcode
        kind: processing
        work:
          command: [/bin/sh, -c, 'for f in "$@"; do echo "\(name)"; done >> names', sh]
          directory: .
          items: {list: [one.mov, two.mov]}

        """
      }
      try fleet.write(job("${f%.*}.mp4"), to: "job.yaml")
      let refused = try await fleet.baton("validate", "job.yaml")
      #expect(refused.status == 65)
      let advice = try #require(refused.errors.firstMatch(of: /write '(.+)' if you mean the text itself/))
      try fleet.write(job("\(advice.1).mp4"), to: "job.yaml")
      let validated = try await fleet.baton("validate", "job.yaml")
      #expect(validated.status == 0, "\(validated.errors)")
      let ran = try await fleet.baton("run", "job.yaml")
      #expect(ran.status == 0, "\(ran.errors)")
      #expect(try String(contentsOfFile: fleet.folder + "/names", encoding: .utf8) == "one.mp4\ntwo.mp4\n")
    }

    @Test("A poke by HTTPS needs a credential, and its payload reaches the command", .contract(41.2))
    func pokeByHTTPS() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let (port, https) = (ProcessFleet.freePort(), ProcessFleet.freePort())
      try await fleet.startCoordinator(http: "127.0.0.1:\(port)", adding: ["BATON_HTTPS": "127.0.0.1:\(https)"])
      try await fleet.startWorker("one")
      try fleet.write(
        """
        identifier: com.example.news
        kind: refresh
        work: {command: [/bin/sh, -c, 'cat "$BATON_PAYLOAD_FILE"']}
        """, to: "news.yaml")
      #expect(try await fleet.baton("apply", "news.yaml").status == 0)
      let token = try await fleet.baton("credential", "create", "feed", "--scope", "submit")
        .output.trimmingCharacters(in: .whitespacesAndNewlines)
      let (name, roots) = try await fleet.coordinatorName()
      func poke(_ job: String, token: String) async throws -> HTTPSRequest.Answer {
        var request = HTTPSRequest("/v1/pokes/\(job)", method: "POST", token: "Bearer \(token)", body: "news")
        request.headers.append(("Idempotency-Key", "same"))
        return try await request.send(to: name, port: https, trusting: roots)
      }
      #expect(try await poke("com.example.news", token: "wrong").status == 401)
      #expect(try await poke("com.example.new", token: token).text.contains(#""code":"notPermitted""#))
      for _ in 0..<2 {  // The second poke is the retry of a client that got no answer.
        let answer = try await poke("com.example.news", token: token)
        #expect(answer.status == 202 && answer.text.contains(#""request":1"#), "\(answer)")
      }
      #expect(try await fleet.baton("wait", "com.example.news", "--timeout", "30s").status == 0)
      #expect(try await fleet.baton("logs", "com.example.news").output == "news")
      let list = try await fleet.baton("list", "--all", "-o", "jsonl").output
      #expect(list.split(separator: "\n").count == 1 && list.contains("feed"), "\(list)")
      // Without TLS the right token is refused too. Over the Unix socket it permits the poke.
      let key = try String(contentsOfFile: fleet.folder + "/coordinator/token", encoding: .utf8)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      let head = "Host: localhost\nAuthorization: Bearer \(key)\nConnection: close\n"
      let plain = try await fleet.http(port, "POST /v1/pokes/com.example.news HTTP/1.1\n\(head)\n")
      #expect(plain.hasPrefix("HTTP/1.1 403"), "\(plain)")
      let socket = "\(fleet.folder)/run/baton/\(port).sock"
      let again = await ProcessFleet.http(socket, "POST /v1/pokes/com.example.news HTTP/1.1\n\(head)\n")
      #expect(again.contains(#""request":2"#), "\(again)")
    }

    @Test(
      "Coordinator and worker show their metrics over TLS, for a credential and for the worker's own token",
      arguments: WholeWorkerTests.programs)
    func metrics(program: Program) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let (https, ofWorker) = (ProcessFleet.freePort(), ProcessFleet.freePort())
      let health = ProcessFleet.freePort()
      try await fleet.startCoordinator(servesOthers: true, adding: ["BATON_HTTPS": "127.0.0.1:\(https)"])
      let (name, roots) = try await fleet.coordinatorName()
      try await fleet.join("desk")
      try await fleet.startWorker(
        "desk", program: program, adding: ["BATON_HTTPS": "127.0.0.1:\(ofWorker)", "BATON_HTTP": "127.0.0.1:\(health)"])
      let credential = try await fleet.baton("credential", "create", "prometheus", "--scope", "metrics").output
      let key = try String(contentsOfFile: fleet.folder + "/desk/metrics-token", encoding: .utf8)
      let server = name.replacing(".coordinator.", with: ".host.")
      for (name, port, token) in [(name, https, credential), ("desk.\(server)", ofWorker, key)] {
        let token = token.trimmingCharacters(in: .whitespacesAndNewlines)
        let shown = try await HTTPSRequest("/metrics", token: "Bearer \(token)").send(
          to: name, port: port, trusting: roots)
        #expect(shown.status == 200 && shown.text.contains("baton_build_info"), "\(shown)")
        for wrong in [nil, "Bearer \(token)0", token] {
          let refused = try await HTTPSRequest("/metrics", token: wrong).send(to: name, port: port, trusting: roots)
          #expect(refused.status == 401 && !refused.text.contains("baton_"), "\(refused)")
        }
      }
      let plain = try await fleet.http(
        health, "GET /metrics HTTP/1.1\nHost: 127.0.0.1\nAuthorization: Bearer \(key)Connection: close\n\n")
      #expect(plain.hasPrefix("HTTP/1.1 403"), "\(plain)")
    }

    @Test("Ctrl-C on a daemon says that it stops, and what becomes of running work", arguments: ["up", "coordinator"])
    func stopping(command: String) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      let address = "127.0.0.1:\(ProcessFleet.freePort())"
      let child = try Child(
        .baton, [command, "--data", fleet.folder + "/data", "--listen", address, "--http", "off"],
        environment: fleet.environment)
      while try await fleet.baton("list", "--coordinator", address).status != 0, child.process.isRunning {}
      if command == "up" {
        // The worker listens for its owner a moment after the coordinator answers.
        func asked() async throws -> (status: Int32, output: String, errors: String) {
          try await Child(.worker, ["status", "-o", "json"], environment: fleet.environment).finished()
        }
        var status = try await asked()
        while status.status != 0, child.process.isRunning { status = try await asked() }
        #expect(status.output.contains("\"address\" : \"\(address)\""), "\(status)")
        let doctor = try await fleet.baton("doctor", "--role", "worker", "--coordinator", address)
        #expect(doctor.output.contains("\(fleet.folder)/run/baton/worker-"), "\(doctor)")
      }
      child.signal(SIGINT)
      let end = await child.finished()
      #expect(end.status == 0, "\(end)")
      #expect(end.errors.contains("baton: stopping; running "), "\(end)")
    }

    @Test("All mistakes in settings are reported at once, with their lines", arguments: WholeWorkerTests.programs)
    func settings(program: Program) async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try fleet.write("leaseTerm: 1ms\nlisten: nowhere\nlimits: {pending: 0}\nlogLevel: loud\n", to: "c.yaml")
      let coordinator = try await fleet.baton("coordinator", "--config", "c.yaml")
      #expect(coordinator.status == 64)
      for place in ["c.yaml:1:12: error: 'leaseTerm'", "c.yaml:2:9:", "c.yaml:3:19:", "c.yaml:4:11: error: 'logLevel'"]
      {
        #expect(coordinator.errors.contains(place), "\(coordinator.errors)")
      }
      try fleet.write("logLevel: loud\nhttp: nowhere\nslots: 0\n", to: "w.yaml")
      let worker = try await Child(
        program, ["--config", fleet.folder + "/w.yaml"], environment: fleet.environment
      ).finished()
      #expect(worker.status == 64)
      for place in ["w.yaml:1:11:", "w.yaml:2:7:", "w.yaml:3:8:"] {
        #expect(worker.errors.contains(place), "\(worker.errors)")
      }
    }

    @Test("doctor finds every worker of this host, however many there are")
    func census() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try await fleet.startCoordinator()
      for name in ["anna", "ben", "carl"] { try await fleet.startWorker(name) }
      let doctor = try await fleet.baton("doctor", "--role", "worker")
      let line = try #require(doctor.output.split(separator: "\n").first { $0.contains("workers of this host answer") })
      for name in ["anna", "ben", "carl"] {
        #expect(line.contains("\(name) (\(fleet.folder)/run/baton/worker-\(name).sock)"))
      }
    }

    @Test(
      "A backup of a running coordinator is a usable store, and after SIGTERM the database file alone is one",
      .onSQLiteOnly)
    func backup() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try fleet.write(
        "identifier: com.example.a.*\nkind: processing\nwork: {command: [\"true\"]}\n", to: "a.yaml")
      try await fleet.startCoordinator()
      #expect(try await fleet.baton("apply", "a.yaml").status == 0)
      #expect(try await fleet.baton("submit", "com.example.a.before").status == 0)
      let real = URL(filePath: fleet.folder).resolvingSymlinksInPath().path
      let answer = try await fleet.baton("store", "backup", real + "/copy.sqlite", "-o", "jsonl")
      #expect(answer.status == 0, "\(answer)")
      #expect(answer.output.hasPrefix(#"{"path":"\#(real)/copy.sqlite","bytes":"#), "\(answer.output)")
      let again = try await fleet.baton("store", "backup", real + "/copy.sqlite")
      #expect(again.status == 4 && again.errors.contains("never overwrites a file"), "\(again)")
      let within = try await fleet.baton("store", "backup", real + "/coordinator/copy.sqlite")
      #expect(within.status == 4 && within.errors.contains("own folder"), "\(within)")
      #expect(try await fleet.baton("submit", "com.example.a.after").status == 0)
      fleet.coordinator?.signal(SIGTERM)
      _ = await fleet.coordinator?.finished()
      let manager = FileManager.default
      let log = fleet.folder + "/coordinator/baton.sqlite-wal"
      #expect(try manager.fileExists(atPath: log) ? manager.attributesOfItem(atPath: log)[.size] as? Int == 0 : true)
      let stopped = try await fleet.baton("store", "backup", "stopped.sqlite", "--data", "coordinator")
      #expect(stopped.status == 0, "\(stopped)")
      let database = fleet.folder + "/coordinator/baton.sqlite"
      try manager.moveItem(atPath: database, toPath: fleet.folder + "/alone.sqlite")
      for (file, requests) in [("copy", 1), ("stopped", 2), ("alone", 2)] {
        for end in ["", "-wal", "-shm"] { try? manager.removeItem(atPath: database + end) }
        try manager.copyItem(atPath: fleet.folder + "/\(file).sqlite", toPath: database)
        try await fleet.startCoordinator()
        let list = try await fleet.baton("list", "-o", "jsonl")
        #expect(list.output.split(separator: "\n").count == requests, "\(file): \(list)")
        fleet.coordinator?.signal(SIGTERM)
        _ = await fleet.coordinator?.finished()
      }
    }

    @Test("baton run goes on under a repaired definition at its checkpoint, and refuses other items")
    func repair() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      func write(_ condition: String, size: Int) throws {
        try fleet.write(
          """
          identifier: com.example.repair
          kind: processing
          retry: {limit: 0}
          work:
            command: [/bin/sh, -c, 'echo "$1" >>"$LOG"; \(condition)', sh]
            environment: {LOG: \(fleet.folder)/log}
            items: {range: 1...6}
            batchSize: \(size)
          """, to: "job.yaml")
      }
      func log() throws -> [Substring] {
        try String(contentsOfFile: fleet.folder + "/log", encoding: .utf8).split(separator: "\n")
      }
      try write("test $1 != 4", size: 1)
      #expect(try await fleet.baton("run", "job.yaml", "--data", "state").status == 1)
      #expect(try log() == ["1", "2", "3", "4"])
      try write("true", size: 2)
      let refused = try await fleet.baton("run", "job.yaml", "--data", "state")
      #expect(refused.status == 4 && refused.errors.contains("'batchSize' was 1 and is 2"), "\(refused)")
      try write("true", size: 1)
      let repaired = try await fleet.baton("run", "job.yaml", "--data", "state")
      #expect(repaired.status == 0, "\(repaired)")
      #expect(
        repaired.errors.contains("the definition has changed; the request goes on with the new one"),
        "\(repaired.errors)")
      #expect(try log() == ["1", "2", "3", "4", "4", "5", "6"])
    }

    @Test("baton up goes on after a restart, with its own worker attached")
    func up() async throws {
      let fleet = try ProcessFleet()
      defer { fleet.stop() }
      try fleet.write(
        """
        identifier: com.example.long
        kind: processing
        work:
          command: [/bin/sh, -c, 'echo "$1" > "$PIPE"', sh]
          environment: {PIPE: \(fleet.pipe.path)}
          items: {range: 1...300}
        """, to: "long.yaml")
      try await fleet.startUp()
      #expect(try await fleet.baton("submit", "-f", "long.yaml").status == 0)
      for signal in [SIGTERM, SIGKILL] {
        _ = await fleet.pipe.next()
        fleet.coordinator?.signal(signal)
        _ = await fleet.coordinator?.finished()
        try await fleet.startUp()
      }
      let waited = try await fleet.baton("wait", "com.example.long", "--timeout", "50s")
      #expect(waited.status == 0, "\(waited.errors)")
    }
  }
}
