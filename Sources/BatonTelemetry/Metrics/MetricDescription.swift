/// What one metric is: the same for all of its series, and for ever.
package struct MetricDescription: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Goes up only; its name ends in `_total`.
    case counter
    case gauge
    /// Counts values by the bucket that they fall into. The bounds rise, are finite, and belong to the bucket below.
    case histogram(bounds: [Double])
  }

  /// As Prometheus takes it: `[a-zA-Z_:][a-zA-Z0-9_:]*`.
  package var name: String
  /// One sentence. Empty for what a library brings.
  package var help: String
  package var kind: Kind

  package init(_ name: String, _ help: String, _ kind: Kind) { (self.name, self.help, self.kind) = (name, help, kind) }

  /// The unit as OTLP names it, in UCUM: seconds, bytes, or a plain number. The name says it already.
  /// Source: https://opentelemetry.io/docs/specs/semconv/general/metrics/#instrument-units.
  package var unit: String {
    let plain = name.hasSuffix("_total") ? name.dropLast("_total".count) : name[...]
    if plain.hasSuffix("_seconds") { return "s" }
    return plain.hasSuffix("_bytes") ? "By" : "1"
  }
}
