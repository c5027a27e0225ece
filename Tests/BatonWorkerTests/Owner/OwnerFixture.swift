import BatonModel
import Foundation
import Synchronization

@testable import BatonHost

/// A monotonic clock and a wall clock, which move only when the test moves them. The wall clock starts on Sunday, 1
/// March 2026, at noon UTC.
final class ManualNow: Sendable {
  static let noon = Timestamp(nanoseconds: 1_772_366_400_000_000_000)
  private let now = Mutex(Now(instant: Instant(nanoseconds: 5_000_000_000), date: ManualNow.noon))

  var value: Now { now.withLock { $0 } }
  var read: @Sendable () -> Now { { self.value } }

  func advance(_ duration: Duration) { step(instant: duration, date: duration) }

  /// Moves the wall clock by `change`, and not the monotonic clock.
  func set(_ change: Duration) { step(instant: .zero, date: change) }

  private func step(instant: Duration, date: Duration) {
    now.withLock { now in
      now = Now(instant: now.instant + instant, date: now.date + date)
    }
  }
}

/// A list to which concurrent calls add values, in the order of the calls.
final class Heard<Value: Sendable>: Sendable {
  private let list = Mutex<[Value]>([])
  var values: [Value] { list.withLock { $0 } }
  func add(_ value: Value) { list.withLock { $0.append(value) } }
}

/// A temporary folder, which is removed when its last user is gone. Its path is short, because the path of a socket has
/// at most about 100 bytes.
final class OwnerFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/bo-" + String(UInt32.random(in: 0 ... .max), radix: 36)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A host with its owner's desk, a manual clock, and launches that have a deadline of 30 s when they are asked to stop.
final class FakeHost: Sendable {
  let clock: ManualNow
  let folder: OwnerFolder
  let words = Heard<OwnersWord>()
  let desk: OwnerDesk
  private let launches: Launches

  /// - Parameter folder: the folder of an earlier worker; `nil` makes a new one.
  init(
    running: Int = 0, hours: LendingHours = .always, folder: OwnerFolder? = nil, clock: ManualNow = ManualNow()
  ) throws {
    self.clock = clock
    self.folder = try folder ?? OwnerFolder()
    launches = Launches(running)
    desk = OwnerDesk(hours: hours, folder: self.folder.path, clock: clock.read) { [words, launches] word in
      words.add(word)
      if word != .accepting { launches.expire(word, until: clock.value.date + .seconds(30)) }
    }
  }

  var pauseFile: String { folder.path + "/pause.json" }
  var socketPath: String { folder.path + "/worker-desk.sock" }

  func endLaunch() { launches.end() }

  var status: HostStatus {
    let running = launches.list
    return HostStatus(
      at: clock.value.date, name: "desk", version: "1.2.3",
      coordinator: .init(address: "127.0.0.1:7420", isConnected: true), owner: desk.word(), slots: 8,
      usedSlots: running.count, conditions: .assumed, launches: running, today: .init(HostUse()))
  }

  func socket(limits: OwnerSocket.Limits = .init(patience: .seconds(60)), access: OwnerAccess = .system) -> OwnerSocket
  {
    OwnerSocket(
      at: OwnerSocketPath(setting: socketPath, name: "desk", environment: [:], user: geteuid()), desk: desk,
      limits: limits, access: access, status: { self.status })
  }

  /// Listens on the owner's socket while `body` runs, and hands a client to `body`.
  func serving<Result: Sendable>(
    limits: OwnerSocket.Limits = .init(patience: .seconds(60)), access: OwnerAccess = .system,
    _ body: @escaping @Sendable (OwnerClient) async throws -> Result
  ) async throws -> Result {
    let (ready, isReady) = AsyncStream<Void>.makeStream()
    return try await withThrowingTaskGroup(of: Result?.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        try await self.socket(limits: limits, access: access).run { isReady.yield() }
        return nil
      }
      group.addTask {
        for await _ in ready { break }
        return try await body(OwnerClient(path: self.socketPath, patience: .seconds(60)))
      }
      while let result = try await group.next() {
        if let result { return result }
      }
      preconditionFailure("the socket ended before the test")
    }
  }
}

private final class Launches: Sendable {
  private let state: Mutex<[HostStatus.Launch]>

  init(_ count: Int) {
    state = Mutex(
      (0..<count).map { index in
        HostStatus.Launch(
          identifier: JobIdentifier("com.example.export")!, request: index + 1, launch: 1, kind: .processing,
          since: ManualNow.noon, progress: Progress())
      })
  }

  var list: [HostStatus.Launch] { state.withLock { $0 } }
  func end() { _ = state.withLock { $0.removeLast() } }

  func expire(_ word: OwnersWord, until deadline: Timestamp) {
    state.withLock { launches in
      for index in launches.indices where launches[index].expiring == nil {
        launches[index].expiring = .init(word.isPause ? .pausedByOwner : .outsideHours, deadline: deadline)
      }
    }
  }
}

extension OwnersWord {
  fileprivate var isPause: Bool { if case .paused = self { true } else { false } }
}
