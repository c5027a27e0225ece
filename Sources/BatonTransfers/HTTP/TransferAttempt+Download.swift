internal import AsyncHTTPClient
internal import BatonBase
internal import BatonHost
internal import BatonModel
internal import BatonProcess
internal import NIOCore

extension TransferAttempt {
  private var target: String { journal.target(of: plan.assignment) }
  private var part: String { journal.part(of: plan.assignment) }
  private var isOwn: Bool { transfer.to?.hasPrefix("/") == false }

  func download() async throws -> AttemptEnd {
    if let end = try await onOwnThread({ try prepared() }) { return end }
    let file = try await onOwnThread { [self] in try PartialFile(part, journal) }
    // What is there is read for its hash before the server is asked: afterwards the server would have to wait.
    if plan.offset > 0 { try await file.begin(at: plan.offset) }
    if plan.offset > 0, plan.offset == plan.total { return try await finish(file, isWhole: false) }
    let (answer, response, address) = try await ask { nil }
    switch answer {
    case .receive(let reception):
      guard let response else { preconditionFailure("an answer has no response") }
      try await reports.receives(reception)
      if reception.from == 0 { try await file.begin(at: 0) }
      return try await receive(response.body, reception, into: file, from: address)
    case .complete: return try await finish(file, isWhole: false)
    case .end(let end): return end
    case .accepted, .follow: preconditionFailure("a download was answered by \(answer)")
    }
  }

  /// Looks at the place of the file, before anything is asked for. Returns the end if there is one already.
  private func prepared() throws -> AttemptEnd? {
    if !isOwn, let problem = rules.problem(with: target) { throw problem }
    do {
      try FinalName.prepare(target, own: isOwn)
    } catch {
      throw failure(error)
    }
    guard let found = FileIdentity(of: target), found != FileIdentity(of: part) else { return nil }
    // It may be the file of an attempt whose end was lost, or one that the user has already.
    guard let expected = transfer.sha256, let (bytes, hash) = try? hashed(target), hash == expected else {
      throw failure(.taken)
    }
    return .finished(TransferredFile(path: target, bytes: bytes, sha256: hash))
  }

  private func failure(_ problem: FinalName.Problem) -> any Error {
    switch problem {
    case .taken:
      TransferFailure(
        .targetExists,
        "There is a file \(target) on this host already, and it is not the one of this transfer. "
          + "Remove it, or choose another place.")
    case .unwritable(let error): error
    }
  }

  private func receive(
    _ body: HTTPClientResponse.Body, _ reception: Reception, into file: PartialFile, from address: WebAddress
  ) async throws -> AttemptEnd {
    var (offset, unsynced, chunk) = (reception.from, 0, [UInt8]())
    var synced = ContinuousClock.now
    do {
      for try await buffer in body {
        offset += Int64(buffer.readableBytes)
        if let end = tooLong(offset, reception, address) { return end }
        chunk += buffer.readableBytesView
        if chunk.count >= PartialFile.chunkBytes {
          unsynced += chunk.count
          try await file.append(chunk)
          chunk = []
        }
        if unsynced + chunk.count >= rules.settings.syncBytes || .now - synced >= rules.settings.syncInterval {
          try await file.append(chunk)
          (unsynced, chunk, synced) = (0, [], .now)
          silence.hold()
          try await reports.advanced(try await file.sync())
        }
        silence.broken()
        try await rate.pay(buffer.readableBytes, silence)
      }
    } catch let error as SystemError {
      throw error
    } catch {
      // What has arrived is kept, so that the next attempt goes on behind it.
      try await file.append(chunk)
      try await reports.advanced(try await file.sync())
      return Task.isCancelled ? .stopped : WebClient.end(error, address)
    }
    try await file.append(chunk)
    let length = try await file.sync()
    try await reports.advanced(length)
    if let total = reception.total, length < total {
      return .interrupted("\(address.origin) closed the connection after \(length) of \(total) bytes")
    }
    return try await finish(file, isWhole: reception.from == 0)
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
  private func finish(_ file: PartialFile, isWhole: Bool) async throws -> AttemptEnd {
    silence.hold()
    let bytes = try await file.sync()
    let hash = try await file.sha256()
    if let end = FileCheck.problem(of: transfer, bytes: bytes, sha256: hash, isWhole: isWhole) { return end }
    return try await onOwnThread { [self] in
      guard !journal.hasBeenSevered else { throw SystemError(.failed, "the journal was severed") }
      do {
        if !isOwn { chmod(part, 0o644) }
        try FinalName.give(part, target)
      } catch let problem as FinalName.Problem {
        throw failure(problem)
      }
      return .finished(TransferredFile(path: target, bytes: bytes, sha256: hash))
    }
  }
}
