internal import BatonModel
package import ServiceContextModule

// W3C Trace Context (https://www.w3.org/TR/trace-context): `traceparent` and `tracestate`. Baggage is not carried.
extension BatonTracer {
  /// Without a valid `traceparent` nothing changes; a `tracestate` that is not valid is left out by itself.
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

  /// The span that is named is certain to be sent, as for a child.
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

    /// A carrier need not know that names of headers have no case; these are the ones that are in use.
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
