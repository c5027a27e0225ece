import BatonBase
package import BatonModel
package import BatonTelemetry

extension [UInt8] {
  /// Eight random bytes, not all zero, as W3C Trace Context requires.
  package static func randomSpanID() -> [UInt8] { random(count: 8) }

  /// Random bytes that are not all zero.
  /// - Parameter count: a multiple of eight.
  static func random(count: Int) -> [UInt8] {
    while true {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(count)
      for _ in 0..<count / 8 { Swift.withUnsafeBytes(of: RandomNumbers.next()) { bytes += $0 } }
      if bytes.contains(where: { $0 != 0 }) { return bytes }
    }
  }
}

extension TraceContext {
  /// A new trace, or a new span in the submitter's trace. The sampling decision is made here, once for the whole
  /// request.
  package static func new(under parent: TraceContext? = nil, _ sampler: Sampler = Sampler()) -> TraceContext {
    var trace = TraceContext(
      traceID: parent?.traceID ?? .random(count: 16), spanID: .randomSpanID(), isSampled: true)
    trace.isSampled = sampler.samples(TraceID(of: trace), parentIsSampled: parent?.isSampled)
    return trace
  }
}
