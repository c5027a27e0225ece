import BatonModel
import Foundation
import Testing

@testable import BatonProcess

/// `baton-exec --serve`, which starts the commands of a worker. One test after the other, because one of them kills
/// starters.
@Suite("The starter", .serialized, .timeLimit(.minutes(10)))
struct StarterTests {
  private let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private func output(_ launch: ProcessLaunch, in processes: ProcessRegistry? = nil) async throws -> String {
    let runtime = FakeRuntime()
    let outcome = try await launch.run(in: processes ?? fixture.processes, folder: fixture.folders.launches + "/1-1") {
      runtime.output($0)
    }
    #expect(outcome == ProcessOutcome(end: .exited(0), signalsSent: []))
    return runtime.output
  }

  private func launch(
    _ script: String, environment: [String: String] = [:], passed: [PassedDescriptor] = []
  ) -> ProcessLaunch {
    ProcessLaunch(
      executable: "/bin/bash", arguments: ["a name", "-c", script], environment: environment,
      directory: fixture.directory, passed: passed)
  }

  @Test("a command gets its words, its variables, its directory and its descriptors, and nothing else")
  func everything() async throws {
    let files = [5, 9, 63].map { number in
      PassedDescriptor(try! .sealed(Array("file \(number)".utf8)), as: Int32(number))
    }
    let script = """
      echo "$0"; pwd; /usr/bin/env; cat <&5; echo; cat <&9; echo; cat <&63; echo
      echo /proc/self/fd/*; echo $PPID; /bin/ps -o pgid= -p $$ | /usr/bin/tr -d ' '; echo $$
      trap -p; echo error >&2
      """
    let text = try await output(
      launch(script, environment: ["PATH": "/bin", "EMPTY": "", "LINES": "a\nb", "É": "="], passed: files))
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.prefix(2) == ["a name", fixture.directory])
    #expect(text.contains("EMPTY=\n") && text.contains("LINES=a\nb\n") && text.contains("É==\n"))
    #expect(!text.contains("HOME="))
    for number in [5, 9, 63] { #expect(lines.contains("file \(number)")) }
    // The shell itself has the folder open under one more number.
    let numbers = try #require(lines.first { $0.hasPrefix("/proc/self/fd/") }).split(separator: " ")
      .compactMap { Int($0.split(separator: "/").last ?? "") }
    #expect(Set(numbers).isSuperset(of: [0, 1, 2, 5, 9, 63]) && numbers.count <= 7, "\(numbers)")
    // It is a child of this process, and leads a group of its own.
    let place = try #require(lines.firstIndex(of: "\(getpid())"))
    #expect(lines[place + 1] == lines[place + 2])
    #expect(lines.last == "error")
  }

  @Test("arguments of several hundred kilobytes arrive whole")
  func long() async throws {
    var long = launch("echo ${#1} ${#2} ${#3}")
    long.arguments += ["a", "b", "c", "d"].map { String(repeating: $0, count: 100_000) }
    #expect(try await output(long) == "100000 100000 100000\n")
  }

  @Test("what the system refuses is an error that says why, and the next command starts")
  func refused() async throws {
    func code(_ change: (inout ProcessLaunch) -> Void) async throws -> SystemError.Code? {
      var launch = launch("true")
      change(&launch)
      return await #expect(throws: SystemError.self) {
        try await launch.run(in: fixture.processes, folder: fixture.folders.launches + "/1-1") { _ in }
      }?.code
    }
    try fixture.write("#!/no/such/interpreter\n", to: "script", executable: true)
    try fixture.write("no program", to: "text", executable: true)
    #expect(try await code { $0.executable = "script" } == .interpreterMissing)
    #expect(try await code { $0.executable = "text" } == .notAProgram)
    #expect(try await code { $0.directory = "/no/such/folder" } == .directoryNotEntered)
    #expect(try await code { $0.arguments.append(String(repeating: "x", count: 200_000)) } == .argumentsTooLong)
    #expect(try await code { $0.arguments.append(String(repeating: "x", count: 17 << 20)) } == .argumentsTooLong)
    #expect(try await code { $0.arguments.append("a\0b") } == .failed)
    #expect(try await code { $0.environment["A"] = "a\0B=c" } == .failed)
    #expect(try await output(launch("echo on")) == "on\n")
  }

  @Test("a command begins with the default signals, also if this process ignores one")
  func signals() async throws {
    // The default of this signal is that nothing happens, so that no other test notices.
    signal(SIGURG, SIG_IGN)
    defer { signal(SIGURG, SIG_DFL) }
    let show = ProcessLaunch(
      executable: "/bin/grep", arguments: ["grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"], environment: [:],
      directory: "/")
    let masks = try await output(show).split(separator: "\n").map { UInt64($0.split(separator: "\t")[1], radix: 16) }
    // The signals 32 and 33 are those of the C library itself.
    #expect(masks.count == 2 && masks.allSatisfy { $0.map { $0 & ~0x1_8000_0000 } == 0 })
  }

  @Test("a starter that was killed is started again")
  func killed() async throws {
    let before = Set(Self.starters())
    #expect(try await output(launch("echo one")) == "one\n")
    // Starters of other tests may be among them. They are started again, too.
    let new = Set(Self.starters()).subtracting(before)
    #expect(!new.isEmpty)
    for pid in new { kill(pid, SIGKILL) }
    #expect(try await output(launch("echo two")) == "two\n")
  }

  @Test("a starter ends with its registry, and a file that is no starter is not needed for a command without a fence")
  func ends() async throws {
    var processes: ProcessRegistry? = ProcessRegistry(folders: fixture.folders, helper: Fence.besideThisProgram)
    let before = Self.starters()
    #expect(try await output(launch("echo one"), in: processes) == "one\n")
    let own = Set(Self.starters()).subtracting(before)
    processes = nil
    for pid in own where ProcessTable.entry(of: pid)?.parent == getpid() { await waitForEnd(of: pid) }

    try fixture.write("#!/bin/sh\necho no starter of this version\n", to: "other", executable: true)
    for helper in ["/no/baton-exec", fixture.directory + "/other"] {
      let plain = ProcessRegistry(folders: fixture.folders, helper: helper)
      #expect(try await output(launch("echo three"), in: plain) == "three\n")
      var fenced = launch("echo four")
      fenced.fence = Fence(helper: helper, level: .basic, kept: fixture.directory)
      let error = await #expect(throws: SystemError.self) { try await output(fenced, in: plain) }
      #expect(error?.code == .notFenced && error?.message.contains(helper) == true)
    }
  }

  /// One word of a whole order is changed.
  @Test("an order that is not whole starts no process, and ends the starter", arguments: 0..<100)
  func damaged(seed: Int) async throws {
    var numbers = SplitMix64(seed: UInt64(seed))
    var ends: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    let (own, theirs) = (OpenFile(ends[0]), OpenFile(ends[1]))
    let helper = try #require(Fence.besideThisProgram)
    let pid = try #require(
      try ChildTable.start {
        try SystemCall.spawn(helper, ["baton-exec", "--serve"], [:], in: "/", [PassedDescriptor(theirs, as: 0)])
      })
    theirs.close()
    var greeting = [UInt8](repeating: 0, count: 8)
    #expect(recv(own.descriptor, &greeting, 8, Int32(MSG_WAITALL)) == 8)
    let mark = fixture.directory + "/ran"
    let texts = Array("/\0--\0/bin/touch\0touch\0\(mark)\0".utf8)
    // Whole, it would have the sizes 0 (bytes), 4 (words), 0 (variables) and 0 (descriptors).
    var words = [UInt32(texts.count), 4, 0, 0, UInt32(bitPattern: .min), 3, 0] + [UInt32](repeating: 0, count: 64)
    let place = [0, 1, 2, 3, 6].randomElement(using: &numbers)!
    words[place] = [2, 3, 5, 65, 1 << 20, 1 << 31, .max].filter { $0 != words[place] }.randomElement(using: &numbers)!
    let order = words.withUnsafeBytes { Array($0) } + texts
    _ = send(own.descriptor, order, order.count, Int32(MSG_NOSIGNAL))
    shutdown(own.descriptor, Int32(SHUT_WR))
    await RunningProcess(pid: pid).exit()
    _ = ChildTable.reap(pid)
    #expect(!SystemCall.exists(mark))
  }

  /// The processes of `baton-exec --serve` that are children of this process.
  private static func starters() -> [Int32] {
    ProcessTable.children().map(\.pid).filter { pid in
      let line = SystemCall.contents(of: "/proc/\(pid)/cmdline") ?? []
      return String(decoding: line, as: UTF8.self).hasPrefix("baton-exec\0--serve")
    }
  }
}
