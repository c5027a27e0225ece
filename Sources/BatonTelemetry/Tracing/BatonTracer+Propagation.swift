internal import BatonModel
package import ServiceContextModule

// Propagation of W3C Trace Context (https://www.w3.org/TR/trace-context): the fields `traceparent` and `tracestate`.
// Baggage is not propagated.
extension BatonTracer {
  /// Puts the remote parent span into `context`. Without a valid `traceparent` the context does not change. A
  /// `tracestate` that is not valid is ignored, and the `traceparent` is used without it.
  package func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    guard let text = Self.value(.parent, of: carrier, using: extractor),
      let parent = TraceContext(traceparent: text.trimmed)
    else { return }
    var remote = SpanContext(parent)
    remote.traceState = Self.value(.state, of: carrier, using: extractor).flatMap(TraceState.normalized) ?? ""
    context.spanContext = remote
  }

  /// Writes the current span into `carrier`. A span that another process refers to must be sent, so it can no longer be
  /// discarded.
  package func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard let span = context.referred() else { return }
    injector.inject(span.traceContext.traceparent, forKey: Field.parent.rawValue, into: &carrier)
    guard !span.traceState.isEmpty else { return }
    injector.inject(span.traceState, forKey: Field.state.rawValue, into: &carrier)
  }

  private enum Field: String {
    case parent = "traceparent"
    case state = "tracestate"

    /// The spellings to look for. A carrier may compare names case-sensitively although names of HTTP headers are not
    /// case-sensitive; these spellings are in use.
    var spellings: [String] {
      [rawValue, rawValue.prefix(1).uppercased() + rawValue.dropFirst(), rawValue.uppercased()]
    }
  }

  private static func value<Carrier, Extract: Extractor>(
    _ field: Field, of carrier: Carrier, using extractor: Extract
  ) -> String? where Extract.Carrier == Carrier {
    for spelling in field.spellings {
      if let value = extractor.extract(key: spelling, from: carrier) { return value }
    }
    return nil
  }
}
