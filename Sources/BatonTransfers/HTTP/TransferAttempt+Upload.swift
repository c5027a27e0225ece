internal import AsyncHTTPClient
internal import BatonBase
internal import BatonModel
internal import BatonProcess
internal import Crypto
internal import NIOCore
internal import Synchronization

extension TransferAttempt {
  func upload() async throws -> AttemptEnd {
    let (file, source) = try await onOwnThread { try self.source() }
    let (bytes, hash) = try await onOwnThread { try hashed(file, source) }
    if let end = FileCheck.problem(of: transfer, bytes: bytes, sha256: hash, isWhole: true) { return end }
    try await reports.receives(Reception(from: 0, total: bytes, validator: nil))
    let (answer, response, address) = try await ask { body(UploadReader(file, source, bytes: bytes)) }
    switch answer {
    case .accepted:
      if let response { await drain(response.body) }
      return .finished(TransferredFile(path: source, bytes: bytes, sha256: hash))
    case .end(let end): return end
    case .receive, .complete, .follow: return .interrupted("\(address.origin) gave an answer that no upload has")
    }
  }

  /// The file to send. It stays open during the attempt, so that what is sent is what was read for the hash.
  private func source() throws -> (file: OpenFile, path: String) {
    guard let path = transfer.file else { preconditionFailure("an upload has no file") }
    let place =
      path.hasPrefix("/")
      ? try FilePlace(String(try rules.resolved(path).dropFirst()), below: "/")
      : try FilePlace("files/\(plan.key.request)/\(path)", below: journal.folder)
    return (try place.open(O_RDONLY), place.path)
  }

  /// The body of a request. It is read while it is sent; a file that got shorter meanwhile breaks the connection.
  private func body(_ reader: UploadReader) -> HTTPClientRequest.Body? {
    let stream = AsyncThrowingStream<ByteBuffer, any Error> {
      guard let chunk = try await onOwnThread({ try reader.next() }) else { return nil }
      silence.broken()
      try await rate.pay(chunk.count, silence)
      try await reports.advanced(reader.sent)
      return ByteBuffer(bytes: chunk)
    }
    return .stream(stream, length: .known(reader.bytes))
  }

  private func drain(_ body: HTTPClientResponse.Body) async {
    var left = 64 << 10
    do {
      for try await buffer in body {
        left -= buffer.readableBytes
        if left < 0 { return }
      }
    } catch {
      // The server has accepted the file; what it says about it is not needed.
    }
  }
}

/// Reads a file for one request, piece by piece. Several requests may read one file.
private final class UploadReader: Sendable {
  private let file: OpenFile
  private let path: String
  let bytes: Int64
  private let offset = Mutex<Int64>(0)

  init(_ file: OpenFile, _ path: String, bytes: Int64) { (self.file, self.path, self.bytes) = (file, path, bytes) }

  var sent: Int64 { offset.withLock { $0 } }

  func next() throws -> [UInt8]? {
    try offset.withLock { offset in
      guard offset < bytes else { return nil }
      let chunk = try file.read(at: offset, limit: Int(min(bytes - offset, 256 << 10)), path)
      guard !chunk.isEmpty else { throw SystemError(.failed, "\(path) became shorter while it was sent") }
      offset += Int64(chunk.count)
      return chunk
    }
  }
}

extension OpenFile {
  /// Reads once, and leaves the file's own offset where it is. The result is empty at the end of the file.
  fileprivate func read(at offset: Int64, limit: Int, _ path: String) throws -> [UInt8] {
    while true {
      var count = 0
      let chunk = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
        count = pread(descriptor, buffer.baseAddress, limit, off_t(offset))
        initialized = max(0, count)
      }
      if count >= 0 { return chunk }
      if errno != EINTR { throw SystemCall.failure("cannot read", path) }
    }
  }
}

/// The length and the SHA-256 of a regular file. Waits for the disk.
func hashed(_ file: OpenFile, _ path: String) throws -> (bytes: Int64, sha256: String) {
  var facts = stat()
  guard fstat(file.descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
    throw SystemError(.unusable, "\(path) is no regular file")
  }
  var (hash, bytes) = (SHA256(), Int64(0))
  while true {
    let chunk = try file.read(at: bytes, limit: PartialFile.chunkBytes, path)
    if chunk.isEmpty { return (bytes, hexadecimal(hash.finalize())) }
    hash.update(data: chunk)
    bytes += Int64(chunk.count)
  }
}
