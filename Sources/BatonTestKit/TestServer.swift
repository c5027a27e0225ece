import FalseServer
import Synchronization

/// The servers of the files that a handler under test lets fetch and send with `task.transfers`. It answers for every
/// URL, so that the handler uses the URLs that it has in production.
///
/// ```swift
/// let server = TestServer()
/// server.deliver("https://example.com/orders.csv", "1,20\n2,30\n", interruptedAt: [0, 7])
/// server.refuse("https://example.com/customers.csv", status: 404)
/// let request = TestRequest("com.example.load", transfers: ["https://example.com/orders.csv"], server: server)
/// ```
///
/// `Examples/TestKit/LoaderTests.swift` has whole tests. The transfers themselves are those of a host: the same code
/// fetches the files over a connection to this process, checks them, writes them to a temporary folder, goes on after
/// an interruption, and decides what is a failure. Only the waits between its attempts are not real: they move the
/// clock of the request.
public final class TestServer: Sendable {
  private enum Plan: Sendable {
    case deliver([UInt8], interruptedAt: [Int])
    case refuse(status: Int)
  }

  private struct State {
    var plans: [String: Plan] = [:]
    var received: [String: [UInt8]] = [:]
  }

  private let state = Mutex(State())
  let folder = TestFolder()

  /// A server that knows no file yet.
  public init() {}

  /// Delivers a file to every transfer of this URL.
  /// - Parameters:
  ///   - url: the URL as the handler or the definition has it.
  ///   - bytes: what the file has.
  ///   - interruptedAt: the bytes of the file before which the connection breaks, one after the other, for each
  ///     transfer of the URL: 0 breaks it before the first byte. The server has ranges, so the transfer goes on there.
  public func deliver(_ url: String, bytes: [UInt8], interruptedAt: [Int] = []) {
    state.withLock { $0.plans[url] = .deliver(bytes, interruptedAt: interruptedAt) }
  }

  /// Delivers a file with this text, as `deliver(_:bytes:interruptedAt:)` does.
  public func deliver(_ url: String, _ text: String, interruptedAt: [Int] = []) {
    deliver(url, bytes: Array(text.utf8), interruptedAt: interruptedAt)
  }

  /// Refuses every transfer of this URL, as all URLs are refused of which the server knows nothing (with the status
  /// 404).
  /// - Parameter status: the status of HTTP. The transfers decide what it means: 404 is the failure `refusedByServer`,
  ///   401 is `unauthorized`, and 503 is tried again until the transfer has `timedOut`.
  public func refuse(_ url: String, status: Int) { state.withLock { $0.plans[url] = .refuse(status: status) } }

  /// What was last sent to this URL with `task.transfers.send`; `nil` if nothing was.
  public func received(_ url: String) -> [UInt8]? { state.withLock { $0.received[url] } }

  /// Answers a request of a transfer.
  /// - Parameter attempt: how many requests the transfer has made before.
  func answer(_ request: FalseRequest, for url: String, attempt: Int) -> FalseAnswer {
    state.withLock { state in
      guard request.method == "GET" else {
        if case .refuse(let status)? = state.plans[url] { return Self.refusal(status) }
        state.received[url] = request.body
        return Self.refusal(201)
      }
      switch state.plans[url] {
      case .deliver(let bytes, let breaks)?:
        return Self.delivery(bytes, to: request, brokenAt: breaks.dropFirst(attempt))
      case .refuse(let status)?: return Self.refusal(status)
      case nil: return Self.refusal(404)
      }
    }
  }

  private static func refusal(_ status: Int) -> FalseAnswer { FalseAnswer(status, [("Content-Length", "0")]) }

  private static func delivery(_ bytes: [UInt8], to request: FalseRequest, brokenAt: ArraySlice<Int>) -> FalseAnswer {
    var answer = FalseFile(bytes).answer(to: request)
    let start = answer.status == 206 ? Int(request.rangeStart ?? 0) : 0
    if let byte = brokenAt.first { answer.turn = (min(max(byte - start, 0), answer.body.count), .close) }
    return answer
  }
}
