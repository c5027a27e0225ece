package import BatonModel

/// Decides which traces are recorded. The decision is made once for each request, when it is submitted, and is stored
/// with the request.
package struct Sampler: Hashable, Sendable {
  package enum Rule: Hashable, Sendable {
    case always
    case never
    /// The fraction of all traces to record, from 0 to 1.
    case ratio(Double)
  }

  /// The rule for a trace that begins in this process, and for every trace if the sampler is not parent-based.
  package var root: Rule
  /// Whether a trace that began elsewhere keeps the decision that its parent's `sampled` flag states.
  package var isParentBased: Bool

  /// Creates a sampler. The default is the default of the specification, `parentbased_always_on`.
  package init(root: Rule = .always, isParentBased: Bool = true) {
    (self.root, self.isParentBased) = (root, isParentBased)
  }

  /// Whether to record `trace`. The result depends on nothing but the arguments and the settings of the sampler, so
  /// that all processes agree on it.
  ///
  /// - Parameter parentIsSampled: the parent's flag; `nil` if the trace begins here.
  package func samples(_ trace: TraceID, parentIsSampled: Bool? = nil) -> Bool {
    if isParentBased, let parentIsSampled { return parentIsSampled }
    switch root {
    case .always: return true
    case .never: return false
    case .ratio(let ratio): return Self.samples(trace, ratio: ratio)
    }
  }

  /// The specification (https://opentelemetry.io/docs/specs/otel/trace/sdk/#traceidratiobased) demands a function of
  /// the trace id under which a larger ratio samples every trace that a smaller ratio samples. It does not say which
  /// function. This one is the function of OpenTelemetry's Go SDK and, except for rounding, of its Python SDK: a trace
  /// is sampled if the last eight bytes of its id, without their lowest bit (63 bits), are below `ratio` times 2^63.
  /// Processes that use those SDKs therefore sample the same traces as Baton.
  private static func samples(_ trace: TraceID, ratio: Double) -> Bool {
    guard ratio > 0 else { return false }
    guard ratio < 1 else { return true }
    return trace.low >> 1 < UInt64(ratio * 0x1p63)
  }
}
