import BatonModel
import BatonTelemetry

/// A template for the addresses at which a tracing backend shows traces, such as
/// `http://127.0.0.1:16686/trace/{traceId}`.
struct TraceLink: Hashable, Sendable {
  static let placeholder = "{traceId}"

  let template: String

  /// Fails unless the template is an http or https address that contains `{traceId}`, in ASCII and without blanks or
  /// control characters.
  init?(_ template: String) {
    let isPlain = template.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 0x20 && $0.value != 0x7F }
    let isWeb = ["http://", "https://"].contains { template.hasPrefix($0) && template.count > $0.count }
    guard isPlain, isWeb, template.contains(Self.placeholder) else { return nil }
    self.template = template
  }

  func address(of trace: TraceID) -> String { template.replacing(Self.placeholder, with: trace.description) }
}
