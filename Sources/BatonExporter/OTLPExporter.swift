internal import AsyncHTTPClient
internal import BatonBase
internal import BatonModel
package import BatonTelemetry
internal import Logging
internal import NIOCore
internal import NIOHTTP1

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif
/// Sends the requests of one signal to a backend by OTLP over HTTP, with protobuf bodies. Each call of `send` makes one
/// attempt. Source: https://opentelemetry.io/docs/specs/otlp/#otlphttp.
package struct OTLPExporter: OTLPSending {
  private let settings: SignalSettings
  private let client: ExporterClient
  private let clock: Clocks
  private let date: @Sendable () -> Timestamp
  private let log: ExporterLog

  /// - Parameters:
  ///   - what: `traces` or `metrics`, for the log.
  ///   - date: the wall clock, to which a date in `Retry-After` is compared.
  init(
    _ what: String, _ settings: SignalSettings, client: ExporterClient, clock: Clocks = .system,
    date: @escaping @Sendable () -> Timestamp = { .now }, logger: Logger
  ) {
    (self.settings, self.client, self.clock, self.date) = (settings, client, clock, date)
    log = ExporterLog(what, to: Endpoint.shown(settings.endpoint), clock: clock, logger: logger)
  }

  package func send(_ request: some OTLPRequest) async -> ExportVerdict {
    let answer = await answer(to: request.protobuf)
    log.note(answer.verdict, reason: answer.reason)
    return answer.verdict
  }
}

// The parts of one attempt.
extension OTLPExporter {
  private struct Answer: Sendable {
    var verdict = ExportVerdict.unreachable
    /// What the log says if the verdict is `retry`.
    var reason: String
  }

  private func answer(to body: [UInt8]) async -> Answer {
    await withTaskGroup(of: Answer.self) { group in
      group.addTask { await self.exchange(body) }
      group.addTask {
        try? await clock.sleep(settings.timeout)
        return Answer(reason: "no answer within \(settings.timeout.inWords)")
      }
      let first = await group.next()
      group.cancelAll()
      return first ?? Answer(reason: "cancelled")
    }
  }

  private func exchange(_ body: [UInt8]) async -> Answer {
    do {
      let response = try await client.execute(request(body))
      let status = Int(response.status.code)
      let verdict = ExportVerdict(
        status: status, retryAfter: response.headers.first(name: "Retry-After"), body: await Self.body(of: response),
        at: date())
      return Answer(verdict: verdict, reason: "HTTP \(status)")
    } catch {
      return Answer(reason: Self.reason(error))
    }
  }

  private func request(_ body: [UInt8]) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: settings.endpoint)
    request.method = .POST
    request.headers.add(name: "Content-Type", value: "application/x-protobuf")
    request.headers.add(name: "User-Agent", value: "Baton-OTLP/\(BatonVersion.current)")
    for header in settings.headers { request.headers.replaceOrAdd(name: header.name, value: header.value) }
    if settings.compression == .gzip, let compressed = Gzip.compressed(body) {
      request.headers.replaceOrAdd(name: "Content-Encoding", value: "gzip")
      request.body = .bytes(ByteBuffer(bytes: compressed))
    } else {
      request.body = .bytes(ByteBuffer(bytes: body))
    }
    return request
  }

  /// The first 64 KiB of the body; no OTLP answer needs more. If reading fails, the part that was read is returned: the
  /// status alone says whether the backend took the request.
  private static func body(of response: HTTPClientResponse) async -> [UInt8] {
    var bytes: [UInt8] = []
    do {
      for try await chunk in response.body {
        bytes += chunk.readableBytesView.prefix(65_536 - bytes.count)
        if bytes.count == 65_536 { break }
      }
    } catch {
      return bytes
    }
    return bytes
  }

  /// The reason of a failure on one line. The client's errors are nested and contain the system's error as `errno:
  /// 111`, which is replaced by its text. The errors contain the host and the port, but never a header.
  private static func reason(_ error: any Error) -> String {
    if let error = error as? HTTPClientError { return ExportVerdict.clip(error.shortDescription) }
    let text = "\(error)"
    guard let number = text.firstMatch(of: #/errno: ([0-9]{1,4})\b/#).flatMap({ Int32($0.1) }) else {
      return ExportVerdict.clip(text)
    }
    return String(cString: strerror(number))
  }
}

extension Timestamp {
  fileprivate static var now: Timestamp { Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9)) }
}
