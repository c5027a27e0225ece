/// An export request of one signal, which can be encoded as protobuf and as OTLP JSON.
package protocol OTLPRequest: OTLPMessage {
  /// The request as OTLP JSON on one line.
  var json: String { get }
}

extension TraceRequest: OTLPRequest {}

/// A destination for the requests of one signal: a backend, a file, or the console.
package protocol OTLPSending: Sendable {
  /// Makes one attempt to send the request, and returns what the answer means. It never throws. Several requests may be
  /// sent at the same time. If the task is cancelled, it returns `.unreachable` soon afterwards.
  func send(_ request: some OTLPRequest) async -> ExportVerdict
}

/// Sends each request to one main destination and then to others. The verdict of the main destination is the result. A
/// request that the main destination will get again is not sent to the others yet, so that they do not receive it
/// twice.
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
