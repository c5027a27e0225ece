package import BatonModel
package import BatonTelemetry

extension [UInt8] {
  /// Eight random bytes, not all zero, as W3C Trace Context asks for.
  package static func randomSpanID() -> [UInt8] { random(count: 8) }

  static func random(count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    while true {
      let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      if bytes.contains(where: { $0 != 0 }) { return bytes }
    }
  }
}

extension TraceContext {
  /// A new trace, or a new span in the submitter's. Whether it is sampled is drawn here, once for the whole request.
  package static func new(under parent: TraceContext? = nil, _ sampler: Sampler = Sampler()) -> TraceContext {
    var trace = TraceContext(
      traceID: parent?.traceID ?? .random(count: 16), spanID: .randomSpanID(), isSampled: true)
    trace.isSampled = sampler.samples(TraceID(of: trace), parentIsSampled: parent?.isSampled)
    return trace
  }
}
