import BatonModel
import Foundation
import Synchronization
import Testing

@testable import BatonProcess

@Suite final class SupervisorShellTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/baton-test-" + UUID().uuidString

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// A supervisor whose worker is a shell script, and whose waits end at once. The lengths of the waits are tested in
  /// `SupervisorMachineTests`.
  private func shell(
    _ script: String, onDeath: @escaping @Sendable (WorkerDeath) async -> Void = { _ in }
  )
    -> SupervisorShell
  {
    SupervisorShell(
      executable: "/bin/sh", arguments: ["sh", "-c", "cd \(folder); " + script], cleanUp: {}, onDeath: onDeath,
      sleep: { _ in })
  }

  private func waitForFile(_ name: String) async {
    while !FileManager.default.fileExists(atPath: folder + "/" + name) { await Task.yield() }
  }

  @Test func `a signal between two workers reaches the next one, and SIGHUP does not`() throws {
    let slot = WorkerSlot()
    let received = Mutex<[[Int32]]>([[], []])
    slot.prepare(try ControlSocket())
    slot.started { signal in received.withLock { $0[0].append(signal) } }
    slot.send(SIGHUP)
    slot.ended()
    slot.send(SIGHUP)
    slot.send(SIGTERM)
    slot.prepare(try ControlSocket())
    slot.started { signal in received.withLock { $0[1].append(signal) } }
    #expect(received.withLock { $0 } == [[SIGHUP], [SIGTERM]])
  }

  @Test func `a death is reported with the last announcement, and the next worker starts`() async throws {
    let deaths = Mutex<[WorkerDeath]>([])
    let status = try await shell(
      "[ -e twice ] && exit 65; touch twice; echo one >&0; echo two >&0; printf half >&0; kill -9 $$"
    ) {
      death in deaths.withLock { $0.append(death) }
    }.run(signals: AsyncStream { _ in })
    #expect(status == 65)
    #expect(deaths.withLock { $0 } == [WorkerDeath(end: .signalled(9), announcement: "two")])
  }

  @Test(.timeLimit(.minutes(10))) func `the next worker does not wait for a report that does not arrive`() async throws
  {
    let status = try await shell("[ -e once ] && exit 0; touch once; exit 1") { _ in
      // The report ends only when it is cancelled.
      for await _ in AsyncStream<Void>(Void.self, { _ in }) {}
    }.run(signals: AsyncStream { _ in })
    #expect(status == 0)
  }

  @Test func `a signal reaches the worker, and ends it all`() async throws {
    let (signals, sender) = AsyncStream.makeStream(of: Int32.self)
    let shell = shell("trap 'exit 3' TERM; touch ready; while :; do sleep 0.01; done")
    let task = Task { try await shell.run(signals: signals) }
    await waitForFile("ready")
    sender.yield(15)
    #expect(try await task.value == 3)
  }

  @Test func `a signal that comes while the worker is being started is not lost`() async throws {
    let (signals, sender) = AsyncStream.makeStream(of: Int32.self)
    sender.yield(15)
    #expect(try await shell("exec sleep 1000").run(signals: signals) == 128 + 15)
  }

  @Test func `the worker's input ends when its supervisor does`() async throws {
    // Cancelling the supervisor kills its worker.
    let shell = shell("echo $$ > pid.part; mv pid.part pid; cat; touch ended; exec sleep 1000")
    let task = Task { try await shell.run(signals: AsyncStream { _ in }) }
    await waitForFile("pid")
    let pid = try #require(Int32(try String(contentsOfFile: folder + "/pid", encoding: .utf8).dropLast()))
    task.cancel()
    _ = await task.result
    await waitForEnd(of: pid)
  }

  @Test func `a program that is not there is an error`() async throws {
    let shell = SupervisorShell(executable: "/no/such/worker", arguments: ["x"], cleanUp: {}, onDeath: { _ in })
    await #expect(throws: (any Error).self) { try await shell.run(signals: AsyncStream { _ in }) }
  }
}
