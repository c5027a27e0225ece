import BatonModel

extension Duration {
  /// Whole seconds, rounded up, so that a person who is told "1 s" does not wait longer. Zero for a negative duration.
  var wholeSecondsUp: Int64 { max(0, (nanoseconds + 999_999_999) / 1_000_000_000) }
}

extension Int64 {
  /// A number of bytes with one decimal: `640 B`, `1.5 MiB`.
  var inBytes: String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var (value, unit) = (Double(Swift.max(0, self)), 0)
    while value >= 1024, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
    let tenths = Int64((value * 10).rounded(.down))
    return unit == 0 ? "\(self) B" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }
}
