package import BatonModel
package import BatonTelemetry
import Synchronization

extension [UInt8] {
  /// Eight random bytes, not all zero, as W3C Trace Context asks for.
  package static func randomSpanID() -> [UInt8] { random(count: 8) }

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
  /// A new trace, or a new span in the submitter's. Whether it is sampled is drawn here, once for the whole request.
  package static func new(under parent: TraceContext? = nil, _ sampler: Sampler = Sampler()) -> TraceContext {
    var trace = TraceContext(
      traceID: parent?.traceID ?? .random(count: 16), spanID: .randomSpanID(), isSampled: true)
    trace.isSampled = sampler.samples(TraceID(of: trace), parentIsSampled: parent?.isSampled)
    return trace
  }
}

/// Numbers for ids, none of which comes twice from one process: SplitMix64 (Steele, Lea, Flood,
/// doi:10.1145/2660193.2660195), from where the system's generator says. Ids are no secrets, and asking the
/// system for each byte was a tenth of a coordinator's time.
private enum RandomNumbers {
  private static let state = Mutex(SystemRandomNumberGenerator.first)

  static func next() -> UInt64 {
    var number = state.withLock { state in
      state &+= 0x9e37_79b9_7f4a_7c15
      return state
    }
    number = (number ^ number >> 30) &* 0xbf58_476d_1ce4_e5b9
    number = (number ^ number >> 27) &* 0x94d0_49bb_1331_11eb
    return number ^ number >> 31
  }
}

extension SystemRandomNumberGenerator {
  fileprivate static var first: UInt64 {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }
}
