import BatonModel
import BatonStore
import HTTPTypes
import Synchronization

@testable import BatonAPI
@testable import BatonCoordinator

/// The HTTP API on a coordinator that gives the answers of a test, without a server.
struct APIWorld: Sendable {
  /// What a caller is told.
  struct Told: Sendable {
    var status: Int
    var text: String
    var headers: HTTPFields

    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
  }

  let coordinator: FakeCoordinator
  private let api: HTTPAPI

  /// - Parameter elapsing: the lengths of sleeps that end at once. Other sleeps last until they are cancelled.
  init(
    _ requests: [RequestRecord] = [], mostWaits: Int = 4, failing: HTTPFailure? = nil,
    elapsing: Set<Duration> = [],
    changes: [Set<ChangeTopic>] = [], _ change: (inout FakeCoordinator.State) -> Void = { _ in }
  ) {
    let coordinator = FakeCoordinator(requests) { state in
      state.topics = changes
      change(&state)
    }
    self.coordinator = coordinator
    api = HTTPAPI(
      HTTPCalls(
        admit: { method, shown, peer in
          if let failing { throw failing }
          guard shown == "Bearer good" else { throw HTTPFailure(401, "notPermitted", "this needs a valid credential") }
          return HTTPCall(Caller(name: "ana", peer: peer), coordinator)
        }, now: { now },
        sleep: { duration in
          if !elapsing.contains(duration) { await World.never() }
          try Task.checkCancellation()
        }, mostWaits: mostWaits))
  }

  /// - Parameters:
  ///   - line: method and address, such as `GET /v1/requests?limit=2`.
  ///   - type: the type of the body; `nil` for none.
  func ask(
    _ line: String, _ body: [UInt8] = [], type: String? = "application/json", token: String? = "Bearer good",
    headers more: [String: String] = [:]
  ) async -> Told {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    let parts = words[1].split(separator: "?", maxSplits: 1).map(String.init)
    var headers: HTTPFields = [:]
    if let type, !body.isEmpty { headers[.contentType] = type }
    if let token { headers[.authorization] = token }
    for (name, value) in more { headers[HTTPField.Name(name)!] = value }
    let answer = await api.answer(
      Asked(
        method: HTTPRequest.Method(words[0])!, path: parts[0], query: parts.count > 1 ? parts[1] : "", headers: headers)
    ) { most in
      guard body.count <= most else { throw HTTPFailure(413, "invalid", "the body may have \(most) bytes") }
      return body
    }
    switch answer.body {
    case .bytes(let bytes, _):
      return Told(status: answer.status.code, text: String(decoding: bytes, as: UTF8.self), headers: answer.headers)
    case .stream(_, let stream):
      let written = Mutex<[UInt8]>([])
      try? await stream { bytes in written.withLock { $0 += bytes } }
      let text = written.withLock { String(decoding: $0, as: UTF8.self) }
      return Told(status: answer.status.code, text: text, headers: answer.headers)
    }
  }

  func ask(
    _ line: String, _ body: String, type: String? = "application/json", headers: [String: String] = [:]
  ) async -> Told { await ask(line, Array(body.utf8), type: type, headers: headers) }
}
