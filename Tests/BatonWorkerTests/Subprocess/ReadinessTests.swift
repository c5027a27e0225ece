import BatonHost
import BatonModel
import Foundation
import Testing

@testable import BatonProcess

@Suite("Waiting for a descriptor", .timeLimit(.minutes(10)))
struct ReadinessTests {
  @Test("a wait that begins in a cancelled task ends at once")
  func cancelledBefore() async throws {
    let place = FileManager.default.temporaryDirectory.path + "/baton-\(UUID().uuidString.prefix(8)).sock"
    let desk = OwnerDesk(
      hours: .always, folder: FileManager.default.temporaryDirectory.path, clock: { Self.now }, listener: { _ in })
    for _ in 0..<20 {
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        // The socket waits for connections, which never come.
        try await OwnerSocket(
          at: OwnerSocketPath(setting: place, name: "desk", environment: [:], user: geteuid()), desk: desk,
          status: { preconditionFailure("nobody asks") }, warn: { _ in }
        ).run()
      }
      task.cancel()
      try await task.value
    }
    #expect(!FileManager.default.fileExists(atPath: place))
  }

  /// A number that is closed is given to the next pipe at once. The end of the watch before must not end the new one.
  @Test("descriptors whose numbers are used again and again are each waited for")
  func numbers() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<2000 {
            let pipe = try CommandPipe(own: .reading)
            async let written: Void = { _ = write(pipe.writing.descriptor, "x", 1) }()
            await Readiness.wait(reading: pipe.reading.descriptor)
            await written
            pipe.reading.close()
            pipe.writing.close()
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private static let now = Now(
    instant: Instant(nanoseconds: 0), date: Timestamp(nanoseconds: 0), steady: Timestamp(nanoseconds: 0))
}
