import BatonBase
import BatonCore
import BatonIdentity
import BatonModel
import Dispatch
import Logging
import Synchronization

/// The receipts of a worker in its data folder. A later process of the worker shows them in its first hello, so that an
/// older copy of the store is noticed even if the coordinator and all workers were started again (promise P12).
///
/// The file has a line for each receipt: its tenure, its number, its seal in hexadecimal, and the name of the store.
struct ReceiptsFile: Sendable {
  let path: String

  init(data: String) { path = data + "/receipts" }

  /// The receipts in the file; none if there is no file. A line that is damaged is left out: its seal would not count.
  /// - Throws: `IdentityError` if the file cannot be read.
  func read() throws(IdentityError) -> [Receipt] {
    let text = String(decoding: try PrivateFile.read(path) ?? [], as: UTF8.self)
    return text.split(separator: "\n").compactMap { Self.receipt(in: $0) }.suffix(Receipt.maximumKept)
  }

  /// Replaces the file, so that it has all of these receipts or its former content, also after a power loss.
  func write(_ receipts: [Receipt]) throws(IdentityError) {
    let lines = receipts.map { receipt in
      "\(receipt.tenure) \(receipt.sequence) \(Self.hexadecimal(receipt.seal)) \(receipt.store)\n"
    }
    try PrivateFile.write(Array(lines.joined().utf8), to: path)
  }

  private static func receipt(in line: Substring) -> Receipt? {
    let parts = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4, let tenure = Int64(parts[0]), let sequence = Int64(parts[1]), let seal = bytes(parts[2])
    else { return nil }
    return Receipt(store: String(parts[3]), tenure: tenure, sequence: sequence, seal: seal)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static func bytes(_ text: Substring) -> [UInt8]? {
    let digits = text.map(\.hexDigitValue)
    guard digits.count % 2 == 0, !digits.contains(nil) else { return nil }
    let values = digits.compactMap { $0 }
    return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}

/// What the worker knows of its file of receipts.
struct KeptReceipts {
  let file: ReceiptsFile
  /// What the file has.
  var written: [Receipt]
  var writtenAt: Instant?
  var isBeingWritten = false

  /// The shortest time between two writes while a connection lasts. If the host, the coordinator and the store are
  /// lost together, the receipts of at most this time and a heartbeat are missing.
  static let interval = Duration.seconds(5)

  /// Whether `receipts` have to be written now.
  /// - Parameter isLast: whether the connection has ended, so that no more will come for a while.
  func areDue(_ receipts: [Receipt], isLast: Bool, at now: Instant) -> Bool {
    guard !isBeingWritten, receipts != written else { return false }
    return isLast || writtenAt.map { now - $0 >= Self.interval } ?? true
  }
}

extension Worker {
  /// Reads the receipts of an earlier process of this worker. A file that cannot be read is not a reason to stop: the
  /// log says so, and the next write replaces it.
  func readReceipts(data: String) {
    let file = ReceiptsFile(data: data)
    var known: [Receipt] = []
    do {
      known = try file.read()
    } catch {
      logger.warning("the receipts of earlier commits are not known: \(error)")
    }
    state.withLock { [known] state in
      state.core.remember(known)
      state.kept = KeptReceipts(file: file, written: known)
    }
  }

  /// Writes the receipts on another thread if they have changed and the last write is long enough ago.
  /// - Parameter isLast: whether the connection has ended.
  func writeReceiptsIfDue(isLast: Bool = false) {
    let due = state.withLock { state -> (ReceiptsFile, [Receipt])? in
      guard let kept = state.kept, kept.areDue(state.core.receipts, isLast: isLast, at: clocks.instant()) else {
        return nil
      }
      state.kept?.isBeingWritten = true
      return (kept.file, state.core.receipts)
    }
    guard let (file, receipts) = due else { return }
    Self.receiptsQueue.async { self.write(receipts, to: file) }
  }

  /// Runs `body`, and then writes the receipts, however it ends.
  func writingLastReceipts<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    do {
      let value = try await body()
      await writeLastReceipts()
      return value
    } catch {
      await writeLastReceipts()
      throw error
    }
  }

  private func writeLastReceipts() async {
    await withCheckedContinuation { done in
      // After a write that is under way.
      Self.receiptsQueue.async {
        let last = self.state.withLock { state in state.kept.map { ($0, state.core.receipts) } }
        if let (kept, receipts) = last, kept.written != receipts { self.write(receipts, to: kept.file) }
        done.resume()
      }
    }
  }

  private func write(_ receipts: [Receipt], to file: ReceiptsFile) {
    var problem: IdentityError?
    do { try file.write(receipts) } catch { problem = error }
    state.withLock { [problem] state in
      state.kept?.isBeingWritten = false
      // After an error the next try waits too.
      state.kept?.writtenAt = clocks.instant()
      if problem == nil { state.kept?.written = receipts }
    }
    if let problem { logger.warning("the receipts of commits are not kept over a restart: \(problem)") }
  }

  private static let receiptsQueue = DispatchQueue(label: "baton.receipts")
}
