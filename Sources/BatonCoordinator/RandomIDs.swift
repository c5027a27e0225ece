package import BatonModel

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
  /// A new trace, or a new span in the submitter's.
  package static func new(under parent: TraceContext? = nil) -> TraceContext {
    TraceContext(
      traceID: parent?.traceID ?? .random(count: 16), spanID: .randomSpanID(), isSampled: parent?.isSampled ?? true)
  }
}
