/// Which traces are recorded. Drawn once for a request, when it is submitted, and stored.
package struct Sampler: Hashable, Sendable {
  package enum Rule: Hashable, Sendable {
    case always
    case never
    /// This part of all traces, from 0 to 1.
    case ratio(Double)
  }

  /// What decides about a trace that begins here.
  package var root: Rule
  /// Whether a submitter that has a trace already decides for it.
  package var isParentBased: Bool

  /// Without arguments the specification's default, `parentbased_always_on`.
  package init(root: Rule = .always, isParentBased: Bool = true) {
    (self.root, self.isParentBased) = (root, isParentBased)
  }

  /// The same for the same arguments, in every process and for ever.
  ///
  /// - Parameter parentIsSampled: nil where the trace begins here.
  package func samples(_ trace: TraceID, parentIsSampled: Bool? = nil) -> Bool {
    if isParentBased, let parentIsSampled { return parentIsSampled }
    switch root {
    case .always: return true
    case .never: return false
    case .ratio(let ratio): return Self.samples(trace, ratio: ratio)
    }
  }

  /// The specification demands a function of the trace id under which a larger ratio samples all that a smaller one does
  /// (https://opentelemetry.io/docs/specs/otel/trace/sdk/#traceidratiobased) and leaves open which. This is the one of
  /// OpenTelemetry's Go, and but for rounding Python, SDK: the id's last eight bytes without their lowest bit, so 63
  /// bits, below the ratio of 2^63. Processes that use those agree with us.
  private static func samples(_ trace: TraceID, ratio: Double) -> Bool {
    guard ratio > 0 else { return false }
    guard ratio < 1 else { return true }
    return trace.low >> 1 < UInt64(ratio * 0x1p63)
  }
}
