import BatonModel

extension Duration {
  /// The two largest units, as people say it: `340ms`, `12s`, `3m 12s`, `2h 5m`, `4d 3h`.
  var inWords: String {
    let milliseconds = max(0, nanoseconds / 1_000_000)
    if milliseconds < 1_000 { return milliseconds == 0 ? "0s" : "\(milliseconds)ms" }
    let units: [(name: String, size: Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]
    let seconds = milliseconds / 1_000
    let first = units.firstIndex { $0.size <= seconds } ?? units.count - 1
    let large = "\(seconds / units[first].size)\(units[first].name)"
    guard first + 1 < units.count else { return large }
    let small = seconds % units[first].size / units[first + 1].size
    return small == 0 ? large : "\(large) \(small)\(units[first + 1].name)"
  }

  /// Whole seconds, rounded up: a person who is told "1 s" waits no longer.
  var wholeSecondsUp: Int64 { max(0, (nanoseconds + 999_999_999) / 1_000_000_000) }
}

extension Int64 {
  /// Bytes with one decimal: `640 B`, `1.5 MiB`.
  var inBytes: String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var (value, unit) = (Double(Swift.max(0, self)), 0)
    while value >= 1024, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
    let tenths = Int64((value * 10).rounded(.down))
    return unit == 0 ? "\(self) B" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }
}

extension String {
  /// On one line without control characters, so that what a device calls itself cannot write to a terminal.
  var onOneLine: String {
    guard unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
  }
}

/// `1 launch`, `2 launches`.
func counted(_ count: Int, _ noun: String, plural: String) -> String { "\(count) \(count == 1 ? noun : plural)" }
