package import BatonModel

/// What a backend's answer to an export request means for the spans or metrics that were sent. Source:
/// https://opentelemetry.io/docs/specs/otlp/#otlphttp-response.
package enum ExportVerdict: Hashable, Sendable {
  case delivered
  /// The backend accepted the request but not all of its content, or it accepted everything and sent a warning
  /// (`rejected` is 0). The request is only logged and never sent again: the backend would refuse the same part again
  /// and store the rest twice.
  case partial(rejected: Int64, message: String)
  /// The request has to be sent again, after the time that the backend asked for, or after a backoff if that is `nil`.
  case retry(after: Duration?)
  /// The request is larger than the backend takes. Its spans have to be sent again in smaller requests. A request of a
  /// single span counts as rejected.
  case tooLarge(reason: String)
  /// The request must not be sent again. The spans are dropped, or their rows in the store are marked as rejected.
  case rejected(reason: String)

  /// No answer came: the connection was refused or cut off, or the answer was late.
  package static let unreachable = ExportVerdict.retry(after: nil)

  /// Reads an HTTP answer.
  ///
  /// - Parameters:
  ///   - retryAfter: the value of the header `Retry-After`, if the answer has it. A value that cannot be read counts as
  ///     absent.
  ///   - date: the current time, to which a date in `retryAfter` is compared.
  package init(status: Int, retryAfter: String? = nil, body: [UInt8] = [], at date: Timestamp) {
    switch status {
    case 200..<300: self.init(accepted: body)
    case 429, 502, 503, 504: self = .retry(after: retryAfter.flatMap { RetryAfter.wait($0, at: date) })
    case 413: self = .tooLarge(reason: Self.reason(status: status, body: body))
    default: self = .rejected(reason: Self.reason(status: status, body: body))
    }
  }

  private init(accepted body: [UInt8]) {
    do throws(ProtobufError) {
      let partial = try ExportResponse(protobuf: body).partialSuccess ?? .init()
      let isWhole = partial.rejected == 0 && partial.message.isEmpty
      self = isWhole ? .delivered : .partial(rejected: partial.rejected, message: Self.clip(partial.message))
    } catch {
      // The status says that the backend took the request. Sending it again might store it twice.
      self = .partial(rejected: 0, message: error.description)
    }
  }

  /// The HTTP status, followed by the message of a `google.rpc.Status` or by the plain text of the body. An HTML page
  /// is left out: it comes from a server that does not serve OTLP at this address, and does not belong into a log.
  private static func reason(status: Int, body: [UInt8]) -> String {
    var said = ExportResponse.PartialSuccess()
    if (try? said.merge(body[...])) == nil || said.message.isEmpty {
      said.message = String(validating: body, as: UTF8.self) ?? ""
    }
    let isPage = said.message.first { !$0.isWhitespace } == "<"
    return said.message.isEmpty || isPage ? "HTTP \(status)" : "HTTP \(status): \(clip(said.message))"
  }

  /// The first 200 Unicode scalars of `text` on one line, for a log. Control and format characters and line separators,
  /// which a terminal could obey, become spaces.
  package static func clip(_ text: String) -> String {
    text.unicodeScalars.prefix(200).map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: " "
      default: String(scalar)
      }
    }.joined()
  }
}
