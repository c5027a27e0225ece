internal import AsyncHTTPClient
package import BatonBase
package import BatonModel
internal import BatonTelemetry
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Posts notifications to a program that listens for HTTP. Its answer 2xx accepts; every other answer, a redirect too,
/// and no answer in time is tried again.
package struct WebhookSender: NotificationSending {
  private let address: WebAddress
  private let secret: WebhookSecret
  private let client: WebhookClient
  private let timeout: Duration
  private let clocks: Clocks

  /// How long an attempt may take.
  package static let usualTimeout = Duration.seconds(10)

  /// - Parameter certificates: a file with the certificates to trust, in PEM; `nil` means those of the system.
  /// - Throws: an error that says why the certificates cannot be used.
  package init(
    to address: WebAddress, secret: WebhookSecret, certificates: String? = nil,
    timeout: Duration = WebhookSender.usualTimeout, clocks: Clocks = .system
  ) throws {
    (self.address, self.secret, self.timeout, self.clocks) = (address, secret, timeout, clocks)
    client = try WebhookClient(certificates: certificates)
  }

  package var kind: ReceiverKind { .webhook }
  package var place: String { address.origin }

  package func send(_ notification: OutgoingNotification) async -> DeliveryVerdict {
    let answered = Answered()
    return await withTaskGroup(of: DeliveryVerdict.self) { group in
      group.addTask { await exchange(notification, answered) }
      group.addTask {
        try? await clocks.sleep(timeout)
        // The status says whether the receiver has the notification. Its text may never end.
        return answered.status.withLock { $0 }.map { Self.verdict($0, "", at: notification.date, asked: nil) }
          ?? .refused("no answer within \(timeout.inWords)")
      }
      let first = await group.next()
      group.cancelAll()
      return first ?? .refused("cancelled")
    }
  }

  /// The status of an answer, which is known before its text.
  private final class Answered: Sendable {
    let status = Mutex<Int?>(nil)
  }

  private func exchange(_ notification: OutgoingNotification, _ answered: Answered) async -> DeliveryVerdict {
    do {
      let response = try await client.execute(request(notification))
      let status = Int(response.status.code)
      answered.status.withLock { $0 = status }
      return Self.verdict(
        status, await Self.text(of: response), at: notification.date, asked: response.headers.first(name: "Retry-After")
      )
    } catch {
      return .refused(Self.reason(error))
    }
  }

  /// - Parameter asked: the header `Retry-After`.
  private static func verdict(_ status: Int, _ text: String, at date: Timestamp, asked: String?) -> DeliveryVerdict {
    let answer = "HTTP \(status)" + (text.isEmpty ? "" : ": \(text)")
    if (200..<300).contains(status) { return .accepted(answer) }
    let advice = (300..<400).contains(status) ? "; redirects are not followed: correct the address" : ""
    return .refused(answer + advice, after: asked.flatMap { RetryAfter.wait($0, at: date) })
  }

  private func request(_ notification: OutgoingNotification) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: address.description)
    request.method = .POST
    request.headers.add(name: "Content-Type", value: "application/json")
    request.headers.add(name: "User-Agent", value: "Baton/\(BatonVersion.current)")
    for header in secret.headers(id: notification.id, at: notification.date, body: notification.content) {
      request.headers.add(name: header.name, value: header.value)
    }
    request.body = .bytes(ByteBuffer(string: notification.content))
    return request
  }

  /// The beginning of the answer's body, on one line, for people. A page is left out.
  private static func text(of response: HTTPClientResponse) async -> String {
    var bytes: [UInt8] = []
    do {
      for try await chunk in response.body {
        bytes += chunk.readableBytesView.prefix(1024 - bytes.count)
        if bytes.count >= 1024 { break }
      }
    } catch {
      // The status alone says whether the receiver has the notification.
    }
    guard let text = String(validating: bytes, as: UTF8.self), text.first(where: { !$0.isWhitespace }) != "<" else {
      return ""
    }
    return ExportVerdict.clip(text)
  }

  /// The reason of a failure on one line. The errors of the client have the system's error as `errno: 111`, which is
  /// replaced by its text.
  private static func reason(_ error: any Error) -> String {
    if let error = error as? HTTPClientError { return ExportVerdict.clip(error.shortDescription) }
    let text = "\(error)"
    guard let number = text.firstMatch(of: #/errno: ([0-9]{1,4})\b/#).flatMap({ Int32($0.1) }) else {
      return ExportVerdict.clip(text)
    }
    return String(cString: strerror(number))
  }
}
