/// A request of one signal, in both encodings of OTLP.
package protocol OTLPRequest: OTLPMessage {
  /// OTLP JSON on one line.
  var json: String { get }
}

extension TraceRequest: OTLPRequest {}

/// Where requests of one signal go: a backend, a file, the console.
package protocol OTLPSending: Sendable {
  /// Tries once and says what the answer means; it never throws. Several may be on their way at once. After a
  /// cancellation it answers `unreachable` soon.
  func send(_ request: some OTLPRequest) async -> ExportVerdict
}

/// Sends to a first place, and what that took or refused for good to others as well: the first one's answer is the one
/// that counts, and what it will get again is not repeated to the others.
package struct OTLPFanout: OTLPSending {
  private let first: any OTLPSending
  private let others: [any OTLPSending]

  package init(_ first: any OTLPSending, others: [any OTLPSending]) { (self.first, self.others) = (first, others) }

  package func send(_ request: some OTLPRequest) async -> ExportVerdict {
    let verdict = await first.send(request)
    if case .retry = verdict { return verdict }
    for other in others { _ = await other.send(request) }
    return verdict
  }
}
