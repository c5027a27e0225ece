internal import AsyncHTTPClient
internal import BatonBase
internal import BatonHost
internal import BatonModel
internal import BatonProcess
internal import NIOCore

extension TransferAttempt {
  private var isOwn: Bool { transfer.to?.hasPrefix("/") == false }

  func download() async throws -> AttemptEnd {
    let places = try await onOwnThread { try self.places() }
    if let end = try await onOwnThread({ try endBefore(places) }) { return end }
    let file = try await onOwnThread { [self] in
      try PartialFile(places.part, journal, syncBytes: rules.settings.syncBytes)
    }
    // What is there is read for its hash before the server is asked: afterwards the server would have to wait.
    if plan.offset > 0 { try await file.begin(at: plan.offset) }
    if plan.offset > 0, plan.offset == plan.total { return try await finish(file, places, isWhole: false) }
    let (answer, response, address) = try await ask { nil }
    switch answer {
    case .receive(let reception):
      guard let response else { preconditionFailure("an answer has no response") }
      try await reports.receives(reception)
      if reception.from == 0 { try await file.begin(at: 0) }
      if let end = try await receive(response.body, reception, into: file, from: address) { return end }
      return try await finish(file, places, isWhole: reception.from == 0)
    case .complete: return try await finish(file, places, isWhole: false)
    case .end(let end): return end
    case .accepted, .follow: preconditionFailure("a download was answered by \(answer)")
    }
  }

  /// Where the file is to be. Folders are made in the transfers' own folder only.
  private func places() throws -> DownloadPlaces {
    guard let path = transfer.to else { preconditionFailure("a download has no target") }
    let partName = journal.partName(of: plan.assignment)
    guard isOwn else {
      let target = try FilePlace(String(try rules.resolved(path).dropFirst()), below: "/")
      try target.demandWritableFolder()
      return DownloadPlaces(part: target.beside(partName), target: target)
    }
    let target = try FilePlace("files/\(plan.key.request)/\(path)", below: journal.folder, makes: true)
    return DownloadPlaces(part: try FilePlace("parts/" + partName, below: journal.folder), target: target)
  }

  /// The end of the attempt, if nothing has to be asked for.
  private func endBefore(_ places: DownloadPlaces) throws -> AttemptEnd? {
    if places.isNamed { return .finished(try named(places)) }
    guard places.isTaken else { return nil }
    // The user may have the file already.
    if let expected = transfer.sha256, let file = try? named(places), file.sha256 == expected { return .finished(file) }
    throw taken(places)
  }

  /// The file that has the final name.
  private func named(_ places: DownloadPlaces) throws -> TransferredFile {
    let (bytes, hash) = try hashed(try places.target.open(O_RDONLY), places.target.path)
    try places.target.synchronizeFolder()
    return TransferredFile(path: journal.target(of: plan.assignment), bytes: bytes, sha256: hash)
  }

  private func taken(_ places: DownloadPlaces) -> TransferFailure {
    TransferFailure(
      .targetExists,
      "There is a file \(places.target.path) on this host already, and it is not the one of this transfer. "
        + "Remove it, or choose another place.")
  }

  /// Receives the rest of the file, and syncs it. Returns the end of the attempt if not everything came.
  private func receive(
    _ body: HTTPClientResponse.Body, _ reception: Reception, into file: PartialFile, from address: WebAddress
  ) async throws -> AttemptEnd? {
    do {
      let end = try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          await file.keepSynced(every: rules.settings.syncInterval, clocks, advanced: reports.advanced)
        }
        defer { group.cancelAll() }
        return try await append(body, reception, to: file, from: address)
      }
      if let end { return end }
    } catch let error as SystemError {
      throw error
    } catch {
      // What has arrived is kept, so that the next attempt goes on behind it.
      try await reports.advanced(try await file.sync())
      return Task.isCancelled ? .stopped : WebClient.end(error, address)
    }
    silence.hold()
    let length = try await file.sync()
    if let total = reception.total, length < total {
      try await reports.advanced(length)
      return .interrupted("\(address.origin) closed the connection after \(length) of \(total) bytes")
    }
    reports.synced(length)
    return nil
  }

  private func append(
    _ body: HTTPClientResponse.Body, _ reception: Reception, to file: PartialFile, from address: WebAddress
  ) async throws -> AttemptEnd? {
    var offset = reception.from
    for try await buffer in body {
      offset += Int64(buffer.readableBytes)
      if let end = tooLong(offset, reception, address) { return end }
      reports.flowed(offset)
      // The disk may be slow, and nothing is expected of the connection meanwhile.
      silence.hold()
      try await file.append(buffer)
      silence.broken()
      try await rate.pay(buffer.readableBytes, silence)
    }
    if reception.total.map({ offset >= $0 }) ?? true { reports.arrived() }
    return nil
  }

  private func tooLong(_ offset: Int64, _ reception: Reception, _ address: WebAddress) -> AttemptEnd? {
    if let total = reception.total, offset > total {
      return .startOver("\(address.origin) sent more bytes than the \(total) that it announced", rangesLie: true)
    }
    guard let size = transfer.size, offset > size else { return nil }
    let problem = "The file has more than the \(size) bytes that the transfer says. Correct 'size', or the file."
    return reception.from > 0
      ? .startOver(problem, rangesLie: true) : .failed(TransferFailure(.wrongSize, problem))
  }

  /// Everything is there and synced: checks it and gives the file its final name.
  private func finish(_ file: PartialFile, _ places: DownloadPlaces, isWhole: Bool) async throws -> AttemptEnd {
    silence.hold()
    let bytes = try await file.sync()
    let hash = try await file.sha256()
    if let end = FileCheck.problem(of: transfer, bytes: bytes, sha256: hash, isWhole: isWhole) { return end }
    return try await onOwnThread { [self] in
      guard !journal.hasBeenSevered else { throw TransferJournal.severed }
      if !isOwn { file.share() }
      guard try places.giveName() else { throw taken(places) }
      return .finished(TransferredFile(path: journal.target(of: plan.assignment), bytes: bytes, sha256: hash))
    }
  }
}
