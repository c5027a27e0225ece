import BatonModel
import BatonTelemetry
import Testing

@Suite struct SamplerTests {
  static func sampler(_ name: String, _ argument: String? = nil) -> TelemetrySettings {
    var environment = ["OTEL_TRACES_SAMPLER": name]
    environment["OTEL_TRACES_SAMPLER_ARG"] = argument
    return TelemetrySettings(environment: environment)
  }

  @Test(
    arguments: [
      ("always_on", nil, .always, false, 0), ("always_off", nil, .never, false, 0),
      ("always_on", "1", .always, false, 1),
      ("traceidratio", "0.25", .ratio(0.25), false, 0), ("traceidratio", nil, .ratio(1), false, 0),
      ("traceidratio", "0", .ratio(0), false, 0), ("traceidratio", "1e-3", .ratio(0.001), false, 0),
      ("traceidratio", "1.1", .ratio(1), false, 1), ("traceidratio", "-0.1", .ratio(1), false, 1),
      ("traceidratio", "nan", .ratio(1), false, 1), ("traceidratio", "half", .ratio(1), false, 1),
      ("parentbased_always_on", nil, .always, true, 0), ("parentbased_always_off", nil, .never, true, 0),
      ("parentbased_traceidratio", "0.5", .ratio(0.5), true, 0), ("jaeger_remote", nil, .always, true, 1),
    ] as [(String, String?, Sampler.Rule, Bool, Int)])
  func `samplers by name`(name: String, argument: String?, root: Sampler.Rule, isParentBased: Bool, warnings: Int) {
    let settings = Self.sampler(name, argument)
    #expect(settings.sampler == Sampler(root: root, isParentBased: isParentBased))
    #expect(settings.warnings.count == warnings)
  }

  /// The bounds of OpenTelemetry's Go SDK: an id is sampled if its last eight bytes, shifted right by one, are below
  /// ratio · 2^63.
  @Test(
    arguments: [
      (0.5, 0x7fff_ffff_ffff_ffff, true), (0.5, 0x8000_0000_0000_0000, false), (0.25, 0x3fff_ffff_ffff_ffff, true),
      (0.25, 0x4000_0000_0000_0000, false), (0, 0, false), (1, .max, true), (0.999, .max, false), (1e-300, 0, false),
      (.nan, 0, false), (-1, 0, false), (2, .max, true),
    ] as [(Double, UInt64, Bool)])
  func `a ratio decides by the id's last bytes`(ratio: Double, low: UInt64, isSampled: Bool) {
    for high in [0, 1, UInt64.max] {
      let trace = TraceID(high: high, low: low)
      #expect(Sampler(root: .ratio(ratio), isParentBased: false).samples(trace) == isSampled)
    }
  }

  @Test(
    arguments: [
      (.always, true, nil, true), (.never, true, nil, false), (.always, true, false, false), (.never, true, true, true),
      (.always, false, false, true), (.never, false, true, false), (.ratio(0), true, true, true),
      (.ratio(1), true, false, false), (.ratio(0), false, true, false),
    ] as [(Sampler.Rule, Bool, Bool?, Bool)])
  func `a submitter's decision counts where the sampler is based on it`(
    root: Sampler.Rule, isParentBased: Bool, parent: Bool?, isSampled: Bool
  ) {
    let sampler = Sampler(root: root, isParentBased: isParentBased)
    #expect(sampler.samples(TraceID(high: 1, low: 1), parentIsSampled: parent) == isSampled)
  }

  @Test func `a larger ratio samples all that a smaller one does, and about as many as it says`() {
    var counts = [0, 0, 0]
    for number in 1...10_000 {
      let trace = TraceID(high: 0, low: UInt64(number) &* 0x9e37_79b9_7f4a_7c15)
      let decisions = [0.1, 0.3, 0.9].map { Sampler(root: .ratio($0)).samples(trace) }
      for (index, decision) in decisions.enumerated() where decision {
        counts[index] += 1
        #expect(decisions[index...].allSatisfy { $0 })
      }
    }
    #expect((900...1100).contains(counts[0]) && (2900...3100).contains(counts[1]) && (8900...9100).contains(counts[2]))
  }
}
