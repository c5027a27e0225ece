internal import BatonBase
internal import BatonProtobuf
internal import BatonWire
internal import GRPCCore
internal import SwiftProtobuf

extension JobClient {
  /// Waits until a request has ended, and returns it.
  ///
  /// The wait goes on through restarts of the coordinator and of hosts, because the request does. It ends with an error
  /// only if no coordinator has answered for as long as `patience` of the client says.
  /// - Parameters:
  ///   - name: the request. Without a number it is the current one when the wait begins.
  ///   - timeout: how long to wait; `nil` for as long as it takes.
  /// - Returns: the request in its last state. It may have failed, or may have been cancelled.
  /// - Throws: `JobClientError`: `.timedOut` after `timeout`, `.notFound`, `.unreachable`; `CancellationError` if the
  ///   task is cancelled. The request goes on in each of these cases.
  @discardableResult
  public func wait(for name: JobRequest.Name, timeout: Duration? = nil) async throws -> JobRequest {
    guard let timeout else { return try await end(of: name) }
    return try await withThrowingTaskGroup(of: JobRequest?.self) { [clocks = calls.clocks] group in
      group.addTask { try await self.end(of: name) }
      group.addTask {
        try await clocks.sleep(timeout)
        return nil
      }
      defer { group.cancelAll() }
      guard let ended = try await group.next() ?? nil else {
        throw JobClientError(.timedOut, "\(name) has not ended within \(timeout); it goes on")
      }
      return ended
    }
  }

  private func end(of name: JobRequest.Name) async throws -> JobRequest {
    for try await request in watch(name) where request.state.isEnded { return request }
    // The sequence ends after an ended request, or throws.
    try Task.checkCancellation()
    return try await request(name)
  }

  /// The request now, and again after every change, until it has ended.
  ///
  /// ```swift
  /// for try await request in client.watch(accepted.request) {
  ///   print("\(request.state): \(request.completedUnits) of \(request.totalUnits ?? 0)")
  /// }
  /// ```
  ///
  /// The sample is from `Examples/Client/ImportClient.swift`.
  ///
  /// The last element is the ended request. A reader that is slower than the changes gets the newest state and misses
  /// those before it. The sequence goes on through restarts of the coordinator, as `wait(for:timeout:)` does, and
  /// throws the same errors. It may be iterated once.
  public func watch(_ name: JobRequest.Name) -> RequestChanges {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: JobRequest.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
    let task = Task {
      do {
        try await follow(name) { continuation.yield($0) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return RequestChanges(stream: stream)
  }

  /// Calls `body` with the request now and after every change, over as many connections as it takes.
  private func follow(_ name: JobRequest.Name, _ body: @escaping @Sendable (JobRequest) -> Void) async throws {
    var name = name
    // The number stays the same, also if the identifier has another current request after a lost connection.
    if name.number == nil { name = try await request(name).name }
    let request = try Self.show(name)
    try await calls.call(within: nil) { [calls] operators, metadata in
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        group.addTask {
          try await Self.follow(request, operators, metadata) {
            calls.noteAnswer()
            body($0)
          }
        }
        // A coordinator that vanished without closing the connection is noticed.
        group.addTask {
          while true {
            try await calls.clocks.sleep(Self.checkInterval)
            _ = try await CallDeadline.within(calls.answer) {
              try await operators.show(request, metadata: metadata, options: CoordinatorClient.callOptions)
            }
            calls.noteAnswer()
          }
        }
        try await group.next()
      }
    }
  }

  private static func follow(
    _ request: Baton_V1_ShowRequest, _ operators: HeldConnection.Operators, _ metadata: HeldConnection.Metadata,
    _ body: @escaping @Sendable (JobRequest) -> Void
  ) async throws {
    try await operators.watch(request, metadata: metadata, options: CoordinatorClient.callOptions) { response in
      var hasEnded = false
      for try await reply in response.messages {
        let request = try JobRequest(reply.request)
        hasEnded = request.state.isEnded
        body(request)
      }
      if !hasEnded { throw JobClientError(.unreachable, "the coordinator ended the stream; it shuts down") }
    }
  }

  /// How long a stream may be silent before the coordinator is asked something else.
  private static let checkInterval = Duration.seconds(30)
}

/// The states of a request, as `JobClient.watch(_:)` gives them.
public struct RequestChanges: AsyncSequence, Sendable {
  /// The request in one of its states.
  public typealias Element = JobRequest

  let stream: AsyncThrowingStream<JobRequest, any Error>

  /// Begins the iteration. There is one for each sequence.
  public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

  /// Hands the states out.
  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncThrowingStream<JobRequest, any Error>.AsyncIterator

    /// Waits for the next state; `nil` after the ended request.
    /// - Throws: `JobClientError`, or `CancellationError` if the task is cancelled.
    public mutating func next() async throws -> JobRequest? {
      let next = try await base.next()
      if next == nil { try Task.checkCancellation() }
      return next
    }
  }
}
