package import BatonModel

/// What an answer of the backend means for what was sent.
/// Source: https://opentelemetry.io/docs/specs/otlp/#otlphttp-response.
package enum ExportVerdict: Hashable, Sendable {
  case delivered
  /// It was accepted, but not all of it, or with a warning (`rejected` is 0). Never sent again, only logged: sent again,
  /// it would be refused again, and the rest would be there twice.
  case partial(rejected: Int64, message: String)
  /// Send it again, after what the backend asked for or else after a backoff.
  case retry(after: Duration?)
  /// More than the backend takes in one request: to be sent again in smaller ones; what is one span is `rejected`.
  case tooLarge(reason: String)
  /// Never to be sent again: it is dropped, or its row marked.
  case rejected(reason: String)

  /// No answer came: refused, cut off, or not in time.
  package static let unreachable = ExportVerdict.retry(after: nil)

  /// - Parameters:
  ///   - retryAfter: the header, if there is one; one that cannot be read counts as absent.
  ///   - date: now, for a header with a date.
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
      // The status says that it was taken; to send it again might store it twice.
      self = .partial(rejected: 0, message: error.description)
    }
  }

  /// The status, and what a `google.rpc.Status` or a plain text in the body says. A page of HTML says nothing that belongs
  /// into a log: it comes from a server that knows no OTLP at this address.
  private static func reason(status: Int, body: [UInt8]) -> String {
    var said = ExportResponse.PartialSuccess()
    if (try? said.merge(body[...])) == nil || said.message.isEmpty {
      said.message = String(validating: body, as: UTF8.self) ?? ""
    }
    let isPage = said.message.first { !$0.isWhitespace } == "<"
    return said.message.isEmpty || isPage ? "HTTP \(status)" : "HTTP \(status): \(clip(said.message))"
  }

  /// One line of at most 200 characters, without anything that a terminal obeys: it goes into a log.
  package static func clip(_ text: String) -> String {
    text.unicodeScalars.prefix(200).map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: " "
      default: String(scalar)
      }
    }.joined()
  }
}
