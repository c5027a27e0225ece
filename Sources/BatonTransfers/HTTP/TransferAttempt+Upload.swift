internal import AsyncHTTPClient
internal import BatonBase
internal import BatonModel
internal import BatonProcess
internal import Crypto
internal import NIOCore
internal import Synchronization

extension TransferAttempt {
  private var source: String {
    let path = transfer.file ?? ""
    return path.hasPrefix("/") ? path : journal.files(of: plan.key.request) + "/" + path
  }

  func upload() async throws -> AttemptEnd {
    let (bytes, hash) = try await onOwnThread { [self] in
      if transfer.file?.hasPrefix("/") == true, let problem = rules.problem(with: source) {
        throw problem
      }
      return try hashed(source)
    }
    if let end = FileCheck.problem(of: transfer, bytes: bytes, sha256: hash, isWhole: true) { return end }
    try await reports.receives(Reception(from: 0, total: bytes, validator: nil))
    let (answer, response, address) = try await ask { body(of: bytes) }
    switch answer {
    case .accepted:
      if let response { await drain(response.body) }
      return .finished(TransferredFile(path: source, bytes: bytes, sha256: hash))
    case .end(let end): return end
    case .receive, .complete, .follow: return .interrupted("\(address.origin) gave an answer that no upload has")
    }
  }

  /// The body of a request. It is read while it is sent; a file that got shorter meanwhile breaks the connection.
  private func body(of bytes: Int64) -> HTTPClientRequest.Body? {
    let reader = UploadReader(source, bytes: bytes)
    let stream = AsyncThrowingStream<ByteBuffer, any Error> {
      guard let chunk = try await onOwnThread({ try reader.next() }) else { return nil }
      silence.broken()
      try await rate.pay(chunk.count, silence)
      try await reports.advanced(reader.sent)
      return ByteBuffer(bytes: chunk)
    }
    return .stream(stream, length: .known(bytes))
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

/// Reads a file for one request, piece by piece.
private final class UploadReader: Sendable {
  private struct State {
    var file: OpenFile?
    var sent: Int64 = 0
  }

  private let path: String
  private let bytes: Int64
  private let state = Mutex(State())

  init(_ path: String, bytes: Int64) { (self.path, self.bytes) = (path, bytes) }

  var sent: Int64 { state.withLock { $0.sent } }

  func next() throws -> [UInt8]? {
    try state.withLock { state in
      let left = bytes - state.sent
      guard left > 0 else { return nil }
      let file = try state.file ?? OpenFile(try SystemCall.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
      state.file = file
      guard let chunk = SystemCall.read(file.descriptor, limit: Int(min(left, 256 << 10))), !chunk.isEmpty else {
        throw SystemError(.failed, "\(path) became shorter while it was sent")
      }
      state.sent += Int64(chunk.count)
      return chunk
    }
  }
}

/// The length and the SHA-256 of a regular file. Waits for the disk.
func hashed(_ path: String) throws -> (bytes: Int64, sha256: String) {
  let file = OpenFile(try SystemCall.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  guard SystemCall.isRegularFile(path) else { throw SystemError(.unusable, "\(path) is no regular file") }
  var (hash, bytes) = (SHA256(), Int64(0))
  while true {
    guard let chunk = SystemCall.read(file.descriptor, limit: PartialFile.chunkBytes) else {
      throw SystemCall.failure("cannot read", path)
    }
    if chunk.isEmpty { return (bytes, hexadecimal(hash.finalize())) }
    hash.update(data: chunk)
    bytes += Int64(chunk.count)
  }
}
