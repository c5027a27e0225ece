import BatonModel

/// Findings about the conditions that a worker's probes read on this host, and about the values that are assumed where
/// the probes read nothing.
extension HostFacts {
  var conditionFindings: [Finding] {
    guard let conditions else { return [] }
    return [
      finding("power", conditions.power) { $0.rawValue }, battery(conditions.battery),
      finding("thermal", conditions.thermal, warning: Self.heat) { $0.name },
      finding("network", conditions.network, warning: Self.loneliness) { $0.rawValue },
      finding("idle", conditions.isIdle, warning: Self.business) { $0 ? "idle" : "in use" }, gpus(conditions.gpus),
    ]
  }

  private static func heat(_ state: ThermalState, isAssumed: Bool) -> String? {
    switch state {
    case .nominal, .fair: nil
    case .serious: "cool the host: while it is this hot, refresh and processing jobs do not start, and expire"
    case .critical: "cool the host: while it is this hot, no job starts, and all jobs expire"
    }
  }

  private static func loneliness(_ state: NetworkState, isAssumed: Bool) -> String? {
    state == .unavailable ? "add a default route; jobs that need a network wait until there is one" : nil
  }

  /// Warns if the idle state is unknown and counts as "in use", because processing jobs would then wait for ever. It is
  /// normal that a person uses the host.
  private static func business(_ isIdle: Bool, isAssumed: Bool) -> String? {
    isAssumed && !isIdle
      ? "processing jobs wait for an idle host: let the worker see input devices (group input), or set "
        + "treatUnknownAs.idle in worker.yaml" : nil
  }

  private func finding<Value>(
    _ check: String, _ reading: Reading<Value>,
    warning: (Value, _ isAssumed: Bool) -> String? = { _, _ in nil }, _ words: (Value) -> String
  ) -> Finding {
    guard let value = reading.value else {
      return Finding(.conditions, check, .ok, "\(check): unknown\(reading.inParentheses)")
    }
    let isAssumed = reading.source == "assumed"
    let remedy = warning(value, isAssumed)
    let found =
      isAssumed
      ? "\(check): unknown\(reading.inParentheses), treated as \(words(value))"
      : "\(check): \(words(value)), reported by \(reading.source)\(reading.inParentheses)"
    return Finding(.conditions, check, remedy == nil ? .ok : .warning, found, remedy: remedy)
  }

  private func battery(_ reading: Reading<Int>) -> Finding {
    reading.value == nil
      ? Finding(.conditions, "battery", .ok, "battery: none found")
      : finding("battery", reading) { "\($0) %" }
  }

  private func gpus(_ reading: Reading<[GPU]>) -> Finding {
    finding("gpus", reading) { gpus in gpus.isEmpty ? "none" : gpus.map(\.name).joined(separator: ", ") }
  }
}

extension Reading {
  /// The raw reading in parentheses; empty if there is none.
  fileprivate var inParentheses: String { raw.isEmpty ? "" : " (\(raw))" }
}
