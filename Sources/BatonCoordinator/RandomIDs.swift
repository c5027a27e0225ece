import BatonBase
package import BatonModel
package import BatonTelemetry

extension SpanID {
  /// A random id. It is not zero, as W3C Trace Context requires.
  package static func random() -> SpanID {
    let id = SpanID(RandomNumbers.next())
    return id.isValid ? id : random()
  }
}

extension TraceID {
  /// A random id. It is not zero, as W3C Trace Context requires.
  static func random() -> TraceID {
    let id = TraceID(high: RandomNumbers.next(), low: RandomNumbers.next())
    return id.isValid ? id : random()
  }
}

extension TraceContext {
  /// A new trace, or a new span in the submitter's trace. The sampling decision is made here, once for the whole
  /// request.
  package static func new(under parent: TraceContext? = nil, _ sampler: Sampler = Sampler()) -> TraceContext {
    var trace = TraceContext(
      traceID: parent?.traceID ?? .random(), spanID: .random(), isSampled: true)
    trace.isSampled = sampler.samples(trace.traceID, parentIsSampled: parent?.isSampled)
    return trace
  }
}
