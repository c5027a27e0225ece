import BatonModel
import Synchronization

extension JobTask {
  /// The transfers of the request: those that have ended, and what the handler adds.
  public var transfers: JobTransfers { JobTransfers(task: self) }
}

/// Files that are fetched and sent outside of the launches of a request. A transfer outlives the handler, its worker
/// and a restart of the host. When all transfers of a group have ended, a launch of the request gets their events.
///
/// ```swift
/// for event in task.transfers.events {
///   switch event.result {
///   case .success(let file): try await load(file.path)
///   case .failure(let error): task.update(subtitle: error.message)
///   }
/// }
/// ```
public struct JobTransfers: Sendable {
  let task: JobTask

  /// How transfers have ended of which no launch has acknowledged the end: of whole groups, errors included. A
  /// checkpoint of this launch acknowledges them, and so does its success; until then the next launch is told again.
  public var events: [JobTransferEvent] { all.filter(\.isNew) }

  /// The events of all groups that have ended, also those that a launch has acknowledged. Their files are kept until
  /// the request has ended.
  public var all: [JobTransferEvent] { task.assignedTransfers.map(JobTransferEvent.init) }

  /// Asks for a file to be fetched. The wish is stored with the next checkpoint, or when the handler returns, and not
  /// if the handler throws before. Once the handler has returned, the request waits for the transfers that it has
  /// added, and a launch gets their events.
  /// - Parameters:
  ///   - url: an `http` or `https` URL without a user name.
  ///   - path: where the file is to be: relative to the request's own folder on the host, or an absolute path that the
  ///     host's owner permits.
  ///   - sha256: the hash that the file must have, as 64 hexadecimal digits in lower case; `nil` if it is not known.
  ///   - group: one launch follows when all transfers of the request with this name have ended.
  ///   - isDiscretionary: whether the transfer waits for an idle host on external power and an unmetered network.
  /// - Throws: `HandlerError` with the code `.badTransfer` if no host could carry it out.
  public func add(
    _ url: String, to path: String, sha256: String? = nil, group: String = "default", isDiscretionary: Bool = false
  ) throws(HandlerError) {
    try task.added.add(
      Transfer(url: url, to: path, sha256: sha256, group: group, isDiscretionary: isDiscretionary))
  }

  /// Asks for a file of this host to be sent, as `add` does for one that is fetched.
  /// - Parameters:
  ///   - file: the path of the file, with the same rule as the target of `add`.
  ///   - url: where the file is sent with the method PUT.
  public func send(
    _ file: String, to url: String, group: String = "default", isDiscretionary: Bool = false
  ) throws(HandlerError) {
    try task.added.add(
      Transfer(url: url, method: .put, file: file, group: group, isDiscretionary: isDiscretionary))
  }
}

/// How a transfer ended.
public struct JobTransferEvent: Hashable, Sendable {
  /// The number of the transfer within its request, from 0.
  public let index: Int
  /// The address from which the file was fetched, or to which it was sent.
  public let url: String
  /// The group of the transfer. A request is launched again when all transfers of a group have ended.
  public let group: String
  /// Whether no launch has acknowledged the event before.
  public let isNew: Bool
  /// The file, which is complete and checked, or why the transfer failed.
  public let result: Result<File, Failure>

  /// A file that was fetched, or sent.
  public struct File: Hashable, Sendable {
    /// The absolute path on this host.
    public let path: String
    /// The size of the file in bytes.
    public let bytes: Int64
    /// The SHA-256 of the file, as 64 hexadecimal digits.
    public let sha256: String
  }

  /// Why there is no file.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// A word for programs, such as `wrongHash` or `timedOut`; `cancelled` for a transfer that a person cancelled.
    public let code: String
    /// Describes the failure for people.
    public let message: String

    /// The message.
    public var description: String { message }
  }

  init(_ event: TransferEvent) {
    (index, url, group, isNew) = (event.index, event.url, event.group, event.isNew)
    result =
      switch event.end {
      case .done(let file): .success(File(path: file.path, bytes: file.bytes, sha256: file.sha256))
      case .failed(let failure): .failure(Failure(code: failure.code.rawValue, message: failure.text))
      case .cancelled: .failure(Failure(code: "cancelled", message: "The transfer was cancelled."))
      }
  }
}

/// The transfers that a handler has added, until they are stored.
final class AddedTransfers: Sendable {
  private struct State {
    var waiting: [Transfer] = []
    /// How many were taken for checkpoints that are under way.
    var taken = 0
  }

  private let state = Mutex(State())

  func add(_ transfer: Transfer) throws(HandlerError) {
    if let problem = transfer.problems.first {
      throw HandlerError(.badTransfer, "the transfer of \(transfer.url) cannot be carried out: \(problem)")
    }
    let isFull = state.withLock { state in
      guard state.waiting.count + state.taken < Self.most else { return true }
      state.waiting.append(transfer)
      return false
    }
    if isFull { throw HandlerError(.badTransfer, "at most \(Self.most) transfers are added with one checkpoint") }
  }

  /// The most transfers of one checkpoint.
  private static let most = 1_000

  var all: [Transfer] { state.withLock { $0.waiting } }

  /// Takes all of them, for a checkpoint that stores them. `settle` follows.
  func take() -> [Transfer] {
    state.withLock { state in
      state.taken += state.waiting.count
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Notes what became of those that were taken. They wait again if they were not stored.
  func settle(_ transfers: [Transfer], areStored: Bool) {
    state.withLock { state in
      state.taken -= transfers.count
      if !areStored { state.waiting.insert(contentsOf: transfers, at: 0) }
    }
  }
}

extension JobTask {
  /// Saves a checkpoint, with the transfers that were added and the result that was given since the one before.
  package func commit(_ commit: Commit) async throws {
    var commit = commit
    // Another task may commit at the same time, and stores none of these then.
    (commit.transfers, commit.result) = (added.take(), given.result)
    do {
      try await runtime.commit(commit)
    } catch {
      added.settle(commit.transfers, areStored: false)
      throw error
    }
    added.settle(commit.transfers, areStored: true)
    if let result = commit.result { given.remove(result) }
  }

  /// Stores the transfers and the result that no checkpoint has stored. The worker calls it when the handler has
  /// returned.
  package func commitAdded() async throws {
    let last = runtime.progress
    if added.all.isEmpty, given.result == nil { return }
    // A result alone is no work, and does not count as a batch.
    try await commit(
      Commit(
        cursor: last.cursor, completedUnits: last.completedUnits, totalUnits: last.totalUnits,
        isEndOnly: added.all.isEmpty))
  }
}
