internal import AsyncHTTPClient
internal import BatonBase
internal import BatonModel
internal import BatonProcess
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// What an attempt tells while it runs. The functions return when the journal has what they say.
struct AttemptReports: Sendable {
  var answered: @Sendable (_ status: Int) -> Void
  /// The bytes of the file begin to arrive. After it returns, the partial file may be cut at `Reception.from`.
  var receives: @Sendable (Reception) async throws -> Void
  /// The bytes before this offset have come, or are being sent. It is called often, and returns at once.
  var flowed: @Sendable (_ offset: Int64) -> Void
  /// The bytes before this offset are synced, or have been sent.
  var advanced: @Sendable (_ offset: Int64) async throws -> Void
  /// All bytes have arrived. The server has nothing more to do; the disk has.
  var arrived: @Sendable () -> Void
  /// All bytes of the file are synced, and its end follows at once. The journal need not have that: it gets the end.
  var synced: @Sendable (_ length: Int64) -> Void
}

/// One attempt to fetch or send a file.
struct TransferAttempt: Sendable {
  let plan: AttemptPlan
  let journal: TransferJournal
  let client: WebClient
  let rules: TransferRules
  let clocks: Clocks
  let rate: RateLimit
  let reports: AttemptReports
  let silence: Silence

  init(
    plan: AttemptPlan, journal: TransferJournal, client: WebClient, rules: TransferRules, clocks: Clocks,
    rate: RateLimit, reports: AttemptReports
  ) {
    (self.plan, self.journal, self.client, self.rules) = (plan, journal, client, rules)
    (self.clocks, self.rate, self.reports, silence) = (clocks, rate, reports, Silence(clocks))
  }

  var transfer: Transfer { plan.assignment.transfer }

  /// Runs until the attempt has ended, or `stop` is raised.
  func run(until stop: Signal) async -> AttemptEnd {
    await withTaskGroup(of: AttemptEnd?.self) { group in
      group.addTask { await attempt() }
      group.addTask {
        await stop.wait()
        return .stopped
      }
      group.addTask { await silence.ended(after: transfer.requestTimeout) }
      let first = await group.next() ?? nil
      group.cancelAll()
      // The attempt itself is waited for: it syncs what has arrived, and its own end counts if it has one.
      var end = first ?? .stopped
      while let other = await group.next() {
        if let other, end == .stopped || end.isInterruption, !other.isInterruption, other != .stopped { end = other }
      }
      return end
    }
  }

  private func attempt() async -> AttemptEnd {
    do {
      return transfer.method == .get ? try await download() : try await upload()
    } catch let failure as TransferFailure {
      return .failed(failure)
    } catch let error as SystemError {
      return .of(error)
    } catch {
      return error is CancellationError ? .stopped : .interrupted("\(error)")
    }
  }

  /// Asks for the file, follows redirects, and returns the answer that is none.
  func ask(
    _ body: @Sendable () -> HTTPClientRequest.Body?
  ) async throws -> (answer: Answer, response: HTTPClientResponse?, address: WebAddress) {
    guard var address = WebAddress(transfer.url) else {
      throw TransferFailure(.invalid, "The url of the transfer is no http or https address.")
    }
    var redirects = 0
    silence.broken()
    while true {
      if let problem = rules.problem(with: address) { throw problem }
      let request = try request(to: address, body())
      let response: HTTPClientResponse
      do {
        response = try await client.execute(request)
      } catch {
        return (.end(WebClient.end(error, address)), nil, address)
      }
      silence.broken()
      reports.answered(Int(response.status.code))
      let answer = Answer.to(
        plan, head: ResponseHead(response), from: address, redirects: redirects, at: clocks.date())
      guard case .follow(let next) = answer else { return (answer, response, address) }
      (address, redirects) = (next, redirects + 1)
    }
  }

  private func request(to address: WebAddress, _ body: HTTPClientRequest.Body?) throws -> HTTPClientRequest {
    var request = HTTPClientRequest(url: address.description)
    request.method = HTTPMethod(rawValue: transfer.method.rawValue.uppercased())
    request.body = body
    for (name, header) in transfer.headers(for: address) {
      request.headers.add(
        name: name, value: try rules.value(of: header, named: name, for: plan.assignment.pattern))
    }
    if !request.headers.contains(name: "User-Agent") { request.headers.add(name: "User-Agent", value: "baton") }
    // A compressed answer would have other bytes, and its ranges would be ranges of other bytes.
    request.headers.add(name: "Accept-Encoding", value: "identity")
    if plan.offset > 0, let validator = plan.validator {
      request.headers.add(name: "Range", value: "bytes=\(plan.offset)-")
      request.headers.add(name: "If-Range", value: validator.text)
    }
    // A server that keeps to it accepts a file once, even if its first answer was lost.
    if transfer.method == .post {
      request.headers.add(name: "Idempotency-Key", value: "\"baton-\(plan.key.request)-\(plan.key.index)\"")
    }
    return request
  }
}

extension AttemptEnd {
  /// What an error of the disk means.
  static func of(_ error: SystemError) -> AttemptEnd {
    if error.cause == ENOSPC || error.cause == EDQUOT { return .noRoom(error.message) }
    return .failed(TransferFailure(.file, "\(error.message). Correct the file or its folder on this host."))
  }

  /// What the server or the disk did, so that another attempt is needed; `nil` after any other end.
  var problem: String? {
    switch self {
    case .interrupted(let text), .busy(let text, _), .noRoom(let text): text
    case .finished, .startOver, .failed, .stopped: nil
    }
  }

  var isInterruption: Bool {
    if case .interrupted = self { true } else { false }
  }
}

/// Notices that nothing has happened on a connection for too long, by the monotonic clock. It begins to listen with the
/// first call of `broken`.
final class Silence: Sendable {
  private let last = Mutex<Instant?>(nil)
  private let clocks: Clocks

  init(_ clocks: Clocks) { self.clocks = clocks }

  /// Something has happened.
  func broken() {
    let now = clocks.instant()
    last.withLock { $0 = now }
  }

  /// Nothing is expected of the connection, while the disk works.
  func hold() { last.withLock { $0 = nil } }

  /// Returns when nothing has happened for `timeout`; `nil` if the task is cancelled.
  func ended(after timeout: Duration) async -> AttemptEnd? {
    while true {
      let now = clocks.instant()
      let left = last.withLock { $0.map { $0 + timeout - now } } ?? timeout
      if left <= .zero { return .interrupted("nothing arrived for \(timeout.components.seconds) s") }
      guard (try? await clocks.sleep(left)) != nil else { return nil }
    }
  }
}

/// Holds the rate of all transfers of the host.
final class RateLimit: Sendable {
  private let bucket: Mutex<TokenBucket>?
  private let clocks: Clocks

  init(_ rate: Int64?, clocks: Clocks) {
    self.clocks = clocks
    bucket = rate.map { Mutex(TokenBucket(rate: max($0, 1), at: clocks.instant())) }
  }

  /// Waits until `bytes` more are paid for. No wait is long, so that a slow rate is no silence.
  func pay(_ bytes: Int, _ silence: Silence) async throws {
    guard var left = bucket?.withLock({ $0.take(bytes, at: clocks.instant()) }) else { return }
    while left > .zero {
      let part = min(left, .milliseconds(500))
      try await clocks.sleep(part)
      silence.broken()
      left -= part
    }
  }
}
