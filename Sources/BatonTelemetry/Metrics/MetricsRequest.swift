internal import BatonModel

// Field numbers: opentelemetry/proto/metrics/v1/metrics.proto, version 1.3.2.

/// An OTLP `ExportMetricsServiceRequest`: a snapshot of one resource, in the instrumentation scope `baton`.
package struct MetricsRequest: OTLPRequest {
  package var resource: Resource
  package var snapshot: MetricsSnapshot
  /// The version of the instrumentation scope, which is Baton's version.
  package var version: String = BatonVersion.current

  package func write(to writer: inout ProtobufWriter) {
    writer.message(1) {
      $0.message(1) { resource.write(to: &$0) }
      $0.message(2) {
        $0.message(1) {
          $0.field(1, unlessEmpty: Names.scope)
          $0.field(2, unlessEmpty: version)
        }
        for family in snapshot.families { $0.message(2) { write(family, to: &$0) } }
      }
    }
  }

  /// `AGGREGATION_TEMPORALITY_CUMULATIVE`: values count from the start of the process. Baton uses no other temporality.
  static let cumulative: UInt64 = 2

  private func write(_ family: MetricFamily, to writer: inout ProtobufWriter) {
    writer.field(1, unlessEmpty: family.name)
    writer.field(2, unlessEmpty: family.description.help)
    writer.field(3, unlessEmpty: family.description.unit)
    switch family.description.kind {
    case .gauge: writer.message(5) { points(of: family, to: &$0) }
    case .counter:
      writer.message(7) {
        points(of: family, to: &$0)
        $0.member(2, varint: Self.cumulative)
        $0.member(3, varint: 1)
      }
    case .histogram:
      writer.message(9) {
        points(of: family, to: &$0)
        $0.member(2, varint: Self.cumulative)
      }
    }
  }

  private func points(of family: MetricFamily, to writer: inout ProtobufWriter) {
    for sample in family.samples {
      writer.message(1) {
        switch sample.value {
        case .number(let value): write(value, isSum: family.description.kind == .counter, sample.labels, to: &$0)
        case .histogram(let counts): write(counts, sample.labels, to: &$0)
        }
      }
    }
  }

  private func write(
    _ value: Double, isSum: Bool, _ labels: [MetricLabel], to writer: inout ProtobufWriter
  ) {
    // Only a counter has a start time; a gauge has none.
    if isSum { writer.field(2, unlessZeroFixed64: snapshot.startedAt.sinceEpoch) }
    writer.field(3, unlessZeroFixed64: snapshot.takenAt.sinceEpoch)
    writer.member(4, fixed64: value.bitPattern)
    writer.messages(7, labels.map(\.attribute))
  }

  private func write(_ counts: HistogramCounts, _ labels: [MetricLabel], to writer: inout ProtobufWriter) {
    writer.field(2, unlessZeroFixed64: snapshot.startedAt.sinceEpoch)
    writer.field(3, unlessZeroFixed64: snapshot.takenAt.sinceEpoch)
    writer.field(4, unlessZeroFixed64: counts.count)
    writer.member(5, fixed64: counts.sum.bitPattern)
    writer.field(6, packed: counts.counts)
    writer.field(7, packed: counts.bounds.map(\.bitPattern))
    writer.messages(9, labels.map(\.attribute))
  }
}

extension MetricLabel {
  var attribute: Attribute { Attribute(name, .string(value)) }
}
