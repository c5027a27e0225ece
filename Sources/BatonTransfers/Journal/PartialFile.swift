internal import BatonBase
internal import BatonHost
internal import BatonModel
internal import BatonProcess
internal import Crypto
internal import Dispatch
internal import Synchronization

/// A download on its way to the disk. A thread of its own hashes and writes, while the connection goes on; at most
/// `mostChunks` chunks wait for it.
final class PartialFile: Sendable {
  private struct State {
    var hash = SHA256()
    var offset: Int64 = 0
    var error: (any Error)?
  }

  static let chunkBytes = 1 << 20
  private static let mostChunks = 4

  let path: String
  private let journal: TransferJournal
  private let file: OpenFile
  private let thread = DispatchQueue(label: "baton.transfer.file")
  private let state = Mutex(State())
  private let gate = Gate(places: mostChunks)

  /// Opens the file, or makes it. Waits for the disk.
  init(_ place: FilePlace, _ journal: TransferJournal) throws(SystemError) {
    path = place.path
    self.journal = journal
    file = try place.open(O_RDWR | O_CREAT)
  }

  /// Writes to a file that is open already.
  init(_ file: OpenFile, path: String, _ journal: TransferJournal) {
    (self.file, self.path, self.journal) = (file, path, journal)
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
      state.withLock { $0 = State(hash: hash, offset: offset) }
    }
  }

  /// Takes the next bytes of the file. Waits if too many wait for the disk already. An error of the disk comes with a
  /// later call, at the latest with `sync`.
  func append(_ bytes: [UInt8]) async throws {
    try check()
    await gate.enter()
    thread.async { [self] in
      defer { gate.leave() }
      guard state.withLock({ $0.error == nil }), !journal.hasBeenSevered else { return }
      do {
        try SystemCall.write(bytes, to: file.descriptor, path: path)
        state.withLock {
          $0.hash.update(data: bytes)
          $0.offset += Int64(bytes.count)
        }
      } catch {
        state.withLock { $0.error = error }
      }
    }
  }

  /// Writes everything that was appended to the disk. Returns how many bytes the file has.
  func sync() async throws -> Int64 {
    try await run { [self] in
      try check()
      guard fsync(file.descriptor) == 0 else { throw SystemCall.failure("cannot sync", path) }
      return state.withLock { $0.offset }
    }
  }

  /// The SHA-256 of everything that was appended before, in hexadecimal digits.
  func sha256() async throws -> String {
    try await run { [self] in state.withLock { hexadecimal($0.hash.finalize()) } }
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

/// Lets a number of holders in; the next one waits. There is one who waits at most.
final class Gate: Sendable {
  private struct State {
    var places: Int
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state: Mutex<State>

  init(places: Int) { state = Mutex(State(places: places)) }

  func enter() async {
    await withCheckedContinuation { continuation in
      let isIn = state.withLock { state in
        state.places -= 1
        if state.places >= 0 { return true }
        precondition(state.waiter == nil, "a gate has one who waits")
        state.waiter = continuation
        return false
      }
      if isIn { continuation.resume() }
    }
  }

  func leave() {
    state.withLock { state in
      state.places += 1
      return state.waiter.take()
    }?.resume()
  }
}
