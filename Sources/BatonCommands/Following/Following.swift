import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import Synchronization

/// Watches requests until all have ended, through restarts of the coordinator, and shows their progress on a display.
final class Following: Sendable {
  /// The most requests that are watched at the same time. When one of them has ended, the next is watched.
  static let atOnce = 32

  let display: ProgressDisplay
  private let names: [RequestName]
  private let last = Mutex<[RequestName: RequestRecord]>([:])

  init(_ names: [RequestName], display: ProgressDisplay) {
    self.names = names
    self.display = display
  }

  /// The requests as they were last seen, in the order of the names.
  var records: [RequestRecord] { last.withLock { last in names.compactMap { last[$0] } } }

  /// The names of the requests that have not ended, as far as this process knows.
  var unfinished: [RequestName] { last.withLock { last in names.filter { last[$0]?.state.isEnded != true } } }

  /// Watches over a connection that is made again when it is lost.
  /// - Returns: the requests in the order of the names, when all have ended.
  func run(_ client: ClientOptions) async throws -> [RequestRecord] {
    let reconnection = Reconnection()
    try await ticking {
      try await reconnection.run(client, self.display) { api in
        try await self.follow(api) { reconnection.noteAnswer() }
      }
    }
    return records
  }

  /// Watches with a coordinator in this process, which needs no connection.
  /// - Returns: the requests in the order of the names, when all have ended.
  func run(_ api: any OperatorAPI) async throws -> [RequestRecord] {
    try await ticking { try await self.follow(api) {} }
    return records
  }

  private func follow(_ api: any OperatorAPI, _ answered: @escaping @Sendable () -> Void) async throws {
    var rest = unfinished[...]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in rest.prefix(Self.atOnce) { group.addTask { try await self.follow(name, api, answered) } }
      rest = rest.dropFirst(Self.atOnce)
      while try await group.next() != nil {
        if let name = rest.popFirst() { group.addTask { try await self.follow(name, api, answered) } }
      }
    }
  }

  private func follow(
    _ name: RequestName, _ api: any OperatorAPI, _ answered: @escaping @Sendable () -> Void
  ) async throws {
    try await api.watch(name.identifier, number: name.number) { details in
      answered()
      self.last.withLock { $0[name] = details.record }
      self.display.update(details.record)
    }
    guard last.withLock({ $0[name]?.state.isEnded }) == true else {
      throw CoordinatorUnreachable("the coordinator ended the stream; it shuts down")
    }
  }

  /// Runs `body`, and redraws the display once a second until it is done, so that the shown times move.
  private func ticking(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let sleep = CommandEnvironment.current.sleep
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        while !Task.isCancelled {
          try await sleep(.seconds(1))
          self.display.redraw()
        }
      }
      // Awaited here and not in the group: when the body ends, the ticking is cancelled, and never the other way round.
      try await body()
    }
    display.redraw()
  }
}

extension Console {
  /// Writes, for every request that did not succeed, why, and what to do about it.
  /// - Throws: a `CommandFailure` with status `failed` and without a message if a request did not succeed.
  func judge(_ records: [RequestRecord]) throws {
    let bad = records.filter { $0.state != .succeeded }
    for record in bad {
      error("\(record.name) \(record.standing(at: environment.now()))")
      for line in record.advice { note("  \(line)") }
    }
    guard bad.isEmpty else { throw CommandFailure(.failed) }
  }
}
