import NIOCore
package import NIOPosix

/// The thread on which a process does its gRPC work. The coordinator's steps between a worker's message and the store,
/// and the worker's steps between the coordinator's message and the handler, run on it too, because changing threads
/// would cost more than each step itself.
///
/// Code that waits for a disk, for a person, or for a lock that is held for a long time must not run on this thread.
package enum RPCLoop {
  /// The event loop group with the one thread. It exists as long as the process, as NIO's own groups do.
  package static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private static let executor = LoopExecutor(loop: group.any())

  /// Runs `body` and its child tasks on the gRPC thread.
  package static func run<Result: Sendable, Failure: Error>(
    _ body: @Sendable () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await withTaskExecutorPreference(executor, operation: body)
  }
}

/// Runs the jobs of tasks on an event loop.
private final class LoopExecutor: TaskExecutor {
  let loop: any EventLoop

  init(loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
