/// The name, help text and kind of one metric. They are the same for all of its series and do not change while the
/// process runs.
package struct MetricDescription: Hashable, Sendable {
  /// The kind of a metric, which decides how its values are recorded and exported.
  package enum Kind: Hashable, Sendable {
    /// A number that only rises; its name ends in `_total`.
    case counter
    case gauge
    /// Counts values by bucket. The bounds are finite and ascend; a value that is equal to a bound belongs to the
    /// bucket below it.
    case histogram(bounds: [Double])
  }

  /// A name that is valid in Prometheus: `[a-zA-Z_:][a-zA-Z0-9_:]*`.
  package var name: String
  /// One sentence that explains the metric; empty for a metric of a library.
  package var help: String
  package var kind: Kind

  package init(_ name: String, _ help: String, _ kind: Kind) { (self.name, self.help, self.kind) = (name, help, kind) }

  /// The unit as OTLP writes it, in UCUM: `s`, `By`, or `1` for a plain number. It is derived from the ending of the
  /// name. Source: https://opentelemetry.io/docs/specs/semconv/general/metrics/#instrument-units.
  package var unit: String {
    let plain = name.hasSuffix("_total") ? name.dropLast("_total".count) : name[...]
    if plain.hasSuffix("_seconds") { return "s" }
    return plain.hasSuffix("_bytes") ? "By" : "1"
  }
}
