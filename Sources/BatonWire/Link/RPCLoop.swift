import NIOCore
package import NIOPosix

/// The thread that a process speaks gRPC on. What a coordinator does between a worker's message and the store, and what
/// a worker does between the coordinator's and the handler, runs there too: each step from thread to thread would cost
/// more than the step.
///
/// Nothing that waits for a disk, a person or a lock that is held for long may run on it.
package enum RPCLoop {
  /// Lives as long as the process, as NIO's own groups do.
  package static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private static let executor = LoopExecutor(loop: group.any())

  /// Runs `body` and its child tasks on the thread.
  package static func run<Result: Sendable>(
    _ body: @Sendable () async throws -> Result
  ) async throws -> Result {
    try await withTaskExecutorPreference(executor, operation: body)
  }
}

private final class LoopExecutor: TaskExecutor {
  let loop: any EventLoop

  init(loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
