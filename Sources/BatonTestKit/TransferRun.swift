import BatonBase
import BatonModel
import BatonTransfers
import FalseServer
import Foundation
import Logging
import Synchronization

/// A folder that is removed when nothing uses it any more.
final class TestFolder: Sendable {
  private let path = FileManager.default.temporaryDirectory.path + "/baton-test-" + UUID().uuidString
  private let count = Mutex(0)

  /// The path of a folder that no caller has had before. It is made by its user.
  func next() -> String {
    count.withLock { count in
      count += 1
      return "\(path)/\(count)"
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Carries out transfers of a request under test, with the code of a host and a server on loopback.
struct TransferRun: Sendable {
  let identifier: JobIdentifier
  let pattern: IdentifierPattern
  let server: TestServer
  /// The time of the transfers, which stands still while one of them runs.
  private let time = ManualClock()

  init(_ identifier: JobIdentifier, _ pattern: IdentifierPattern, _ server: TestServer, at now: Duration) {
    (self.identifier, self.pattern, self.server) = (identifier, pattern, server)
    time.advance(by: now)
  }

  /// Runs the transfers until all have ended.
  /// - Returns: how each has ended, and the time at which the last attempt began.
  func ends(of transfers: [Int: Transfer]) async throws -> (ends: [Int: TransferEnd], time: Duration) {
    let attempts = Mutex<[Int: Int]>([:])
    let served = try await FalseServer { [server] request in
      guard let index = Int(request.path.dropFirst()), let transfer = transfers[index] else { return FalseAnswer(404) }
      let attempt = attempts.withLock { attempts in
        attempts[index, default: -1] += 1
        return attempts[index] ?? 0
      }
      return server.answer(request, for: transfer.url, attempt: attempt)
    }
    let engine = try engine()
    let result = await withDiscardingTaskGroup { group in
      group.addTask { await engine.perform() }
      _ = engine.obey(transfers.map { .carryOut(assignment($0, $1, at: served.origin)) })
      let result = await untilEnded(engine, transfers.count)
      engine.drain()
      return result
    }
    await served.stop()
    try Task.checkCancellation()
    return result
  }

  private func engine() throws -> TransferEngine {
    var settings = TransferSettings(folder: server.folder.next())
    settings.minFree = 0
    settings.folders = [PathPattern("/**")].compactMap(\.self)
    return try TransferEngine(
      settings, conditions: TransferConditions(), clocks: clocks,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private func assignment(_ index: Int, _ transfer: Transfer, at origin: String) -> TransferAssignment {
    var transfer = transfer
    transfer.url = "\(origin)/\(index)"
    return TransferAssignment(
      key: TransferKey(request: RequestID(1), index: index), transfer: transfer, identifier: identifier,
      pattern: pattern)
  }

  private var clocks: Clocks {
    Clocks(
      now: { [time] in Now(instant: Instant(time.elapsed), date: Timestamp(nanoseconds: time.elapsed.nanoseconds)) },
      sleep: { [time] in try await time.sleep(for: $0) }, boot: { "test" })
  }

  /// Moves the time whenever all transfers wait for a later one.
  private func untilEnded(
    _ engine: TransferEngine, _ count: Int
  ) async -> (ends: [Int: TransferEnd], time: Duration) {
    var (cursor, last): (TransferCursor?, Duration) = (nil, time.elapsed)
    while true {
      let statuses = engine.statuses(after: nil, atMost: count)
      let ends = statuses.compactMap { status in status.end.map { (status.key.index, $0) } }
      if ends.count == count || Task.isCancelled { return (Dictionary(uniqueKeysWithValues: ends), last) }
      if let next = Self.nextTime(statuses) {
        last = max(last, next)
        pass(to: next)
      }
      cursor = await engine.nextChanges(since: cursor, atMost: count, patience: Self.patience).cursor
    }
  }

  /// The engine may compute a sleep just before the time moves. Then nothing changes, and its sleep is ended.
  private static let patience = Duration.milliseconds(50)

  /// When the first transfer goes on; `nil` if one runs now.
  private static func nextTime(_ statuses: [TransferStatus]) -> Duration? {
    var times: [Duration] = []
    for status in statuses {
      switch status.state {
      case .running: return nil
      case .waiting(_, let until): if let until { times.append(.nanoseconds(until.nanoseconds)) }
      case .ended: break
      }
    }
    return times.min()
  }

  private func pass(to next: Duration) {
    if next > time.elapsed {
      time.advance(by: next - time.elapsed)
    } else if let wake = time.timeline.withLock({ $0.nextWake }) {
      time.advance(by: max(wake - time.elapsed, .zero))
    }
  }
}

extension TransferStatus {
  fileprivate var end: TransferEnd? { if case .ended(let end) = state { end } else { nil } }
}
