import Foundation
import Testing

private let hasPython = system("command -v python3 >/dev/null 2>&1") == 0

/// `Examples/python` with the real programs: other programs that use the HTTP API, and a command that keeps a cursor.
extension EndToEnd {
  @Suite("Programs in Python", .timeLimit(.minutes(10)), .enabled(if: hasPython, "there is no python3"))
  struct PythonTests {
    private static let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Examples/python").standardizedFileURL.path

    /// A fleet with HTTP, and the example in its folder.
    private func fleet() async throws -> ProcessFleet {
      let fleet = try ProcessFleet()
      try await fleet.startCoordinator(lease: "1s", http: "127.0.0.1:0")
      for name in ["baton.py", "count.py", "count.yaml"] {
        try FileManager.default.copyItem(atPath: "\(Self.examples)/\(name)", toPath: "\(fleet.folder)/\(name)")
      }
      return fleet
    }

    /// Runs a program in Python with a client of the fleet's coordinator.
    private func python(
      _ text: String, _ arguments: [String] = [], in fleet: ProcessFleet, isDaemon: Bool = false
    )
      throws -> Child
    {
      let begin = """
        import os, sys, time
        import baton
        client = baton.Client.through_socket(sys.argv[1], open(sys.argv[2]).read().strip())

        """
      let place = ["\(fleet.folder)/run/baton/\(fleet.http).sock", "\(fleet.folder)/coordinator/token"]
      return try Child(
        path: "/usr/bin/env", ["python3", "-c", begin + text] + place + arguments, environment: fleet.environment,
        currentDirectory: fleet.folder, isDaemon: isDaemon)
    }

    @Test("A command that is killed, and then with its worker, goes on and repeats at most a batch each time")
    func killedTwice() async throws {
      let fleet = try await fleet()
      defer { fleet.stop() }
      try await fleet.startWorker("one")
      #expect(try await fleet.baton("apply", "count.yaml").status == 0)
      let supervisor = try #require(fleet.worker("one")).pid
      let driver = try python(
        """
        def reached(units):
            while client.call("GET", f"/v1/requests/{job}/{number}/wait", {"until": "changed", "timeout": "5s"})["completedUnits"] < units:
                pass
        def processes():
            for pid in set(filter(str.isdigit, os.listdir("/proc"))) - {str(os.getpid())}:
                try:
                    if os.readlink(f"/proc/{pid}/cwd") == os.getcwd() and b"count.py" in open(f"/proc/{pid}/cmdline", "rb").read():
                        yield int(pid)
                except OSError:
                    pass
        job = "com.example.count"
        receipt = client.submit(job, payload={"numbers": 200}, id="once")
        assert client.submit(job, payload={"numbers": 200}, id="once") == receipt
        number = receipt["request"]
        reached(30)
        for pid in processes():
            os.kill(pid, 9)
        reached(100)
        for thread in os.listdir(f"/proc/{sys.argv[3]}/task"):
            for pid in open(f"/proc/{sys.argv[3]}/task/{thread}/children").read().split():
                os.kill(int(pid), 9)
        assert client.wait(job, number, timeout=0)["state"] != "succeeded"
        print(client.wait(job)["state"])
        assert [request["identifier"] for request in client.list(pattern="com.example.*")] == [job]
        assert client.explain(job)["verdict"] == "ended"
        assert client.logs(job, tail=5) == b""
        print(client.cancel(job))
        try:
            client.submit("not an identifier")
        except baton.Error as error:
            print(error.status, error.code)
        """, ["\(supervisor)"], in: fleet)
      let done = await driver.finished()
      #expect(done.status == 0 && done.output == "succeeded\n[]\n400 invalid\n", "\(done.output) \(done.errors)")
      let shown = try await fleet.show("com.example.count")
      #expect(shown.launchHistory.map(\.outcome) == ["failed", "lost", "finished"])
      let lines = try String(contentsOfFile: fleet.folder + "/squares.txt", encoding: .utf8).split(separator: "\n")
      let counts = Dictionary(lines.map { ($0, 1) }, uniquingKeysWith: +)
      #expect(counts.count == 200 && Set(counts.keys) == Set((1...200).map { "\($0) \($0 * $0)" }))
      #expect(lines.count <= 200 + 2 * 10, "more than a batch was repeated")
    }

    @Test("A stream of changes ends when the coordinator shuts down, and a client waits for the next coordinator")
    func shutdown() async throws {
      let fleet = try await fleet()
      defer { fleet.stop() }
      #expect(try await fleet.baton("submit", "-f", "count.yaml").status == 0)
      let waiter = try python("print(client.wait('com.example.count')['state'])", in: fleet)
      let streams = try python(
        """
        import http.client
        connection = http.client.HTTPConnection("localhost")
        connection.sock = client._open(60)
        connection.request("GET", "/v1/changes", headers={"Authorization": f"Bearer {client._token}"})
        answer = connection.getresponse()
        print(answer.readline(), file=sys.stderr, flush=True)
        try:
            answer.read()
        except http.client.IncompleteRead:
            pass
        """, in: fleet, isDaemon: true)
      #expect(await streams.errorLine(containing: "event: changes") != "")
      // More calls wait, and are left by their callers, than may wait at one time.
      let leavers = try python(
        """
        import http.client
        for path in ["/v1/changes", "/v1/requests/com.example.count/wait", "/v1/requests/com.example.count/logs?follow=true"] * 50:
            connection = http.client.HTTPConnection("localhost")
            connection.sock = client._open(60)
            connection.request("GET", path, headers={"Authorization": f"Bearer {client._token}"})
            if path == "/v1/changes":
                assert connection.getresponse().status == 200, path
            connection.sock.close()
        print(client.call("GET", "/v1/overview")["paused"])
        """, in: fleet)
      let left = await leavers.finished()
      #expect(left.output == "False\n", "\(left.output) \(left.errors)")
      let coordinator = try #require(fleet.coordinator)
      coordinator.signal(SIGTERM)
      #expect(await streams.finished().status == 0, "the stream ends")
      #expect(await coordinator.finished().status == 0)
      try await fleet.startCoordinator(lease: "1s", http: "127.0.0.1:\(fleet.http)")
      #expect(try await fleet.baton("cancel", "com.example.count").status == 0)
      let waited = await waiter.finished()
      #expect(waited.output == "cancelled\n", "\(waited.output) \(waited.errors)")
    }
  }
}
