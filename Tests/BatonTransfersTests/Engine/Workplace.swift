import BatonBase
import BatonModel
import BatonProcess
import Crypto
import Foundation
import Logging
import Synchronization

@testable import BatonTransfers

/// A folder of transfers with a clock that a test moves, and the engines that work on it one after the other.
final class Workplace: Sendable {
  let folder: String
  let clock: ManualClock
  private let stirred = Signal()

  init() throws {
    folder = FileManager.default.temporaryDirectory.path + "/baton-transfers-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    clock = ManualClock(stirring: stirred)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func engine(
    environment: [String: String] = [:], conditions: TransferConditions = TransferConditions(),
    _ change: (inout TransferSettings) -> Void = { _ in }
  ) throws -> TransferEngine {
    var settings = TransferSettings(folder: folder + "/transfers")
    (settings.minFree, settings.syncBytes) = (0, 4096)
    change(&settings)
    return try TransferEngine(
      settings, conditions: conditions, environment: environment, clocks: clock.clocks,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Runs an engine until `isDone`, and then ends it. Time goes by while nothing runs, and while the rate is paid for.
  func run(_ engine: TransferEngine, until isDone: ([TransferStatus]) -> Bool) async {
    engine.state.withLock { $0.waiters[0] = stirred }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await engine.perform() }
      while true {
        let statuses = engine.statuses(after: nil, atMost: 100_000)
        if isDone(statuses) { break }
        let runs = statuses.contains { $0.state == .running }
        clock.wakeNext(runs ? .milliseconds(500) : .seconds(1 << 40))
        await stirred.wait()
      }
      group.cancelAll()
    }
  }

  /// Lets one event wake the loop of `run`.
  func stir() { stirred.raise() }

  /// Orders transfers, and runs them until all have ended.
  func end(_ engine: TransferEngine, _ transfers: Transfer...) async -> [TransferEnd] {
    let orders = transfers.enumerated().map { TransferOrder.carryOut(Samples.assignment($1, $0)) }
    _ = engine.obey(orders)
    await run(engine) { $0.count == transfers.count && $0.allSatisfy { $0.end != nil } }
    return engine.statuses(after: nil, atMost: 1000).compactMap(\.end)
  }

  /// The names in a folder; empty if there is no such folder.
  func names(in folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path(folder))) ?? []).sorted()
  }

  func path(_ name: String) -> String { folder + "/" + name }
  func write(_ bytes: [UInt8], to name: String) throws { try SystemCall.write(bytes, to: path(name)) }
  func contents(of name: String) -> [UInt8]? { SystemCall.contents(of: path(name), limit: 1 << 30) }
  /// A file of the request that the tests order for.
  func contents(ofTarget name: String) -> [UInt8]? { contents(of: "transfers/files/7/" + name) }
}

extension TransferStatus {
  var end: TransferEnd? {
    if case .ended(let end) = state { end } else { nil }
  }
}

extension TransferEnd {
  var code: TransferFailure.Code? {
    if case .failed(let failure) = self { failure.code } else { nil }
  }

  var text: String? {
    if case .failed(let failure) = self { failure.text } else { nil }
  }

  var file: TransferredFile? {
    if case .done(let file) = self { file } else { nil }
  }
}

extension [UInt8] {
  static func random(_ count: Int, _ random: inout SplitMix64) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  var sha256: String { SHA256.hash(data: self).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
