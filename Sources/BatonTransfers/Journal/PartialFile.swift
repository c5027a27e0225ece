internal import BatonBase
internal import BatonHost
internal import BatonModel
internal import BatonProcess
internal import Crypto
internal import Dispatch
internal import NIOCore
internal import Synchronization

/// A download on its way to the disk. A thread of its own hashes and writes while the connection goes on, and
/// `keepSynced` syncs beside both. At most `mostWaiting` bytes, and one piece more, wait to be written; at most twice
/// the bytes after which a sync is due, and one piece more, wait to be synced.
final class PartialFile: Sendable {
  private struct State {
    var hash = SHA256()
    /// How many bytes are written.
    var offset: Int64 = 0
    /// How many of them are known to be on the disk, and count as synced.
    var synced: Int64 = 0
    /// The first error counts for everything that follows: an fsync that succeeds after one that failed means nothing.
    var error: (any Error)?
  }

  static let chunkBytes = 1 << 20
  private static let mostWaiting = 1 << 20

  let path: String
  private let journal: TransferJournal
  private let file: OpenFile
  private let thread = DispatchQueue(label: "baton.transfer.file")
  private let state = Mutex(State())
  private let syncBytes: Int
  private let unwritten = Room(mostWaiting)
  private let unsynced: Room
  /// Raised when `syncBytes` wait to be synced, and after an error.
  private let syncIsDue = Signal()

  /// Opens the file, or makes it. Waits for the disk.
  convenience init(_ place: FilePlace, _ journal: TransferJournal, syncBytes: Int) throws(SystemError) {
    self.init(try place.open(O_RDWR | O_CREAT), path: place.path, journal, syncBytes: syncBytes)
  }

  /// Writes to a file that is open already.
  init(_ file: OpenFile, path: String, _ journal: TransferJournal, syncBytes: Int) {
    (self.file, self.path, self.journal, self.syncBytes) = (file, path, journal, syncBytes)
    unsynced = Room(2 * syncBytes)
  }

  /// Lets every user of this host read the file.
  func share() { fchmod(file.descriptor, 0o644) }

  /// Cuts the file after `offset` bytes, and reads these for the hash.
  func begin(at offset: Int64) async throws {
    try await run { [self] in
      guard ftruncate(file.descriptor, off_t(offset)) == 0, lseek(file.descriptor, 0, Int32(SEEK_SET)) == 0 else {
        throw SystemCall.failure("cannot cut", path)
      }
      var (hash, rest) = (SHA256(), offset)
      while rest > 0 {
        guard let chunk = SystemCall.read(file.descriptor, limit: Int(min(rest, Int64(Self.chunkBytes)))),
          !chunk.isEmpty
        else { throw SystemCall.failure("cannot read", path) }
        hash.update(data: chunk)
        rest -= Int64(chunk.count)
      }
      state.withLock { $0 = State(hash: hash, offset: offset, synced: offset) }
    }
  }

  /// Takes the next bytes of the file. Waits if too many wait for the disk already. An error of the disk comes with a
  /// later call, at the latest with `sync`.
  func append(_ bytes: ByteBuffer) async throws {
    try check()
    let count = bytes.readableBytes
    await unsynced.take(count)
    await unwritten.take(count)
    thread.async { [self] in
      defer { unwritten.give(count) }
      guard state.withLock({ $0.error == nil }) else { return }
      do {
        guard !journal.hasBeenSevered else { throw TransferJournal.severed }
        let unsynced = try bytes.withUnsafeReadableBytes { bytes in
          try SystemCall.write(bytes, to: file.descriptor, path: path)
          return state.withLock {
            $0.hash.update(bufferPointer: bytes)
            $0.offset += Int64(count)
            return $0.offset - $0.synced
          }
        }
        if unsynced >= syncBytes { syncIsDue.raise() }
      } catch {
        fail(error)
      }
    }
  }

  /// Writes everything that was appended to the disk. Returns how many bytes the file has.
  func sync() async throws -> Int64 {
    let length = try await run { [self] in
      try check()
      return state.withLock { $0.offset }
    }
    do {
      try await onOwnThread { [self] in
        guard fsync(file.descriptor) == 0 else { throw SystemCall.failure("cannot sync", path) }
      }
    } catch {
      fail(error)
      throw error
    }
    return length
  }

  /// Syncs when `syncBytes` have come, or bytes have waited for `interval`, until the task is cancelled. An error
  /// comes with the next call of `append` or `sync`.
  /// - Parameter advanced: gets how many bytes are synced.
  func keepSynced(
    every interval: Duration, _ clocks: Clocks, advanced: @Sendable (_ length: Int64) async throws -> Void
  ) async {
    // No append may wait for a sync that does not come any more.
    defer { unsynced.open() }
    while !Task.isCancelled {
      try? await syncIsDue.wait { try await clocks.sleep(interval) }
      let (written, synced, isWhole) = state.withLock { ($0.offset, $0.synced, $0.error == nil) }
      guard isWhole else { return }
      guard !Task.isCancelled, written > synced else { continue }
      do {
        let length = try await sync()
        try await advanced(length)
        state.withLock { $0.synced = length }
        unsynced.give(Int(length - synced))
      } catch {
        return fail(error)
      }
    }
  }

  /// The SHA-256 of everything that was appended before, in hexadecimal digits.
  func sha256() async throws -> String {
    try await run { [self] in state.withLock { hexadecimal($0.hash.finalize()) } }
  }

  private func fail(_ error: any Error) {
    state.withLock { $0.error = $0.error ?? error }
    syncIsDue.raise()
  }

  private func check() throws { if let error = state.withLock({ $0.error }) { throw error } }

  private func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      thread.async { continuation.resume(with: Result { try body() }) }
    }
  }
}

func hexadecimal(_ digest: SHA256.Digest) -> String {
  digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Room for a number of bytes. Who takes some while there is none waits; one task takes at a time.
final class Room: Sendable {
  private struct State {
    /// Below zero if the last piece was larger than what was left: a piece of any size fits into a room.
    var left: Int
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state: Mutex<State>

  init(_ bytes: Int) { state = Mutex(State(left: bytes)) }

  /// Returns when there was room.
  func take(_ count: Int) async {
    if state.withLock({ $0.left <= 0 }) {
      await withCheckedContinuation { continuation in
        let hasRoom = state.withLock { state in
          if state.left > 0 { return true }
          precondition(state.waiter == nil, "a room has one task that waits")
          state.waiter = continuation
          return false
        }
        if hasRoom { continuation.resume() }
      }
    }
    state.withLock { $0.left -= count }
  }

  func give(_ count: Int) {
    state.withLock { state in
      state.left += count
      return state.left > 0 ? state.waiter.take() : nil
    }?.resume()
  }

  /// Lets everything in from now on.
  func open() { give(1 << 60) }
}
