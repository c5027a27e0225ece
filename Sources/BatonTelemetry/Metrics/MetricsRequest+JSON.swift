internal import BatonModel

extension MetricsRequest {
  /// The request as OTLP JSON on one line, for the console.
  package var json: String {
    var writer = JSONWriter()
    writer.object {
      $0.array("resourceMetrics", [self]) { request, json in
        json.field("resource") { $0.array("attributes", request.resource.attributes, Attribute.write) }
        json.array("scopeMetrics", [request]) { request, json in
          json.field("scope") {
            $0.field("name", unlessEmpty: Names.scope)
            $0.field("version", unlessEmpty: request.version)
          }
          json.array("metrics", request.snapshot.families, request.family)
        }
      }
    }
    return writer.text
  }

  private func family(_ family: MetricFamily, to json: inout JSONWriter) {
    json.field("name", unlessEmpty: family.name)
    json.field("description", unlessEmpty: family.description.help)
    json.field("unit", unlessEmpty: family.description.unit)
    switch family.description.kind {
    case .gauge: json.field("gauge") { $0.array("dataPoints", family.samples, point(hasStart: false)) }
    case .counter:
      json.field("sum") {
        $0.array("dataPoints", family.samples, point(hasStart: true))
        $0.field("aggregationTemporality", unlessZero: Self.cumulative)
        $0.member("isMonotonic", "true")
      }
    case .histogram:
      json.field("histogram") {
        $0.array("dataPoints", family.samples, point(hasStart: true))
        $0.field("aggregationTemporality", unlessZero: Self.cumulative)
      }
    }
  }

  private func point(hasStart: Bool) -> (MetricFamily.Sample, inout JSONWriter) -> Void {
    { sample, json in
      if hasStart { json.field("startTimeUnixNano", unlessZero64: snapshot.startedAt.sinceEpoch) }
      json.field("timeUnixNano", unlessZero64: snapshot.takenAt.sinceEpoch)
      switch sample.value {
      case .number(let value): json.member("asDouble", JSONWriter.number(value))
      case .histogram(let counts): Self.write(counts, to: &json)
      }
      json.array("attributes", sample.labels.map(\.attribute), Attribute.write)
    }
  }

  private static func write(_ counts: HistogramCounts, to json: inout JSONWriter) {
    json.field("count", unlessZero64: counts.count)
    json.member("sum", JSONWriter.number(counts.sum))
    json.member("bucketCounts", "[\(counts.counts.map { "\"\($0)\"" }.joined(separator: ","))]")
    json.member("explicitBounds", "[\(counts.bounds.map { JSONWriter.number($0) }.joined(separator: ","))]")
  }
}
