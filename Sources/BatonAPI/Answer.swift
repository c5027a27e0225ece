import BatonBase
package import BatonCoordinator
package import BatonHTTP
import BatonIdentity
package import BatonJSON
import Crypto
package import HTTPTypes
package import Hummingbird
import NIOCore

/// The answer to a call.
package struct Answer: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8], type: String)
    /// Bytes that come piece by piece. The function writes them until there are no more.
    case stream(type: String, Stream)
  }

  package typealias Stream =
    @Sendable (_ write: @escaping @Sendable ([UInt8]) async throws -> Void) async throws -> Void

  package var status: HTTPResponse.Status
  package var headers: HTTPFields
  package var body: Body

  package init(body: Body, _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) {
    (self.body, self.status, self.headers) = (body, status, headers)
  }

  package init(_ json: JSONValue, _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) {
    self.init(body: .bytes(Array((json.compact + "\n").utf8), type: Self.json), status, headers: headers)
  }

  package init(_ failure: HTTPFailure) {
    self.init(failure, .object([]))
  }

  /// - Parameter more: what a failure says besides its code and its message.
  package init(_ failure: HTTPFailure, _ more: JSONValue) {
    let object: JSONValue = ["code": JSONValue(failure.code), "message": JSONValue(failure.message)]
    self.init(object.adding(more), HTTPResponse.Status(code: failure.status))
    if let pause = failure.retryAfter {
      let seconds = pause.components.seconds + (pause.components.attoseconds > 0 ? 1 : 0)
      headers[.retryAfter] = "\(max(1, seconds))"
    }
    if failure.status == 401 { headers[.wwwAuthenticate] = "Bearer" }
  }

  package static let json = "application/json"

  /// The answer with a validator of its text, and without the text if the caller has it already.
  package func validated(against known: String?) -> Answer {
    guard status == .ok, case .bytes(let bytes, _) = body else { return self }
    let tag = "\"\(Hexadecimal.text(Array(SHA256.hash(data: bytes).prefix(16))))\""
    var answer = self
    answer.headers[.eTag] = tag
    guard known.map({ Self.names(tag, in: $0) }) ?? false else { return answer }
    (answer.status, answer.body) = (.notModified, .bytes([], type: ""))
    return answer
  }

  /// Whether a header `If-None-Match` names the validator (RFC 9110, section 13.1.2).
  private static func names(_ tag: String, in header: String) -> Bool {
    header.filter { !$0.isWhitespace }.split(separator: ",").contains { $0 == "*" || $0 == tag || $0 == "W/\(tag)" }
  }

  /// - Parameters:
  ///   - isHead: whether the caller wants the headers alone.
  ///   - context: notices when the caller of a stream goes away.
  package func response(isHead: Bool, in context: HTTPContext) -> Response {
    var headers = headers
    headers[.cacheControl] = headers[.cacheControl] ?? "no-store"
    headers[.xContentTypeOptions] = "nosniff"
    switch body {
    case .bytes(let bytes, let type):
      if !type.isEmpty { headers[.contentType] = type }
      guard !isHead else {
        headers[.contentLength] = "\(bytes.count)"
        return Response(status: status, headers: headers)
      }
      return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    case .stream(let type, let write):
      headers[.contentType] = type
      guard !isHead else { return Response(status: status, headers: headers) }
      return Response(
        status: status, headers: headers,
        body: ResponseBody { writer in
          let handover = Handover()
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
              defer { handover.close() }
              try await context.whileConnected { try await write { try await handover.give($0) } }
            }
            while let piece = await handover.take() { try await writer.write(ByteBuffer(bytes: piece)) }
            try await group.waitForAll()
          }
          try await writer.finish(nil)
        })
    }
  }
}

/// Hands pieces from one task to another, one at a time: who gives waits until the piece before was taken, so that a
/// slow reader of an answer holds up what makes it.
private final class Handover: Sendable {
  private let pieces = Mailbox<[UInt8]>(capacity: 1)
  private let taken = Signal()

  func give(_ piece: [UInt8]) async throws {
    pieces.send(piece)
    await taken.wait()
    try Task.checkCancellation()
  }

  /// The next piece; `nil` after the last one.
  func take() async -> [UInt8]? {
    defer { taken.raise() }
    return await pieces.receive()?.first
  }

  func close() { pieces.close() }
}
