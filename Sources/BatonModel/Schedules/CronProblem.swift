/// Why a text is not a cron expression: the field, what is wrong with it, and what to write instead.
package struct CronProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The wrong field; `nil` for a problem of the expression as a whole.
  package var field: CronField?
  /// What is wrong, where, and what to write instead, on one line of printable ASCII with at most a few hundred bytes
  /// for every expression. It starts with the field and its text, such as `minute '61': 61 is not a
  /// number from 0 to 59`.
  package var description: String

  init(_ description: String) { self.description = description }

  init(_ field: CronField, _ text: Substring, _ rule: String) {
    self.field = field
    description = "\(field.name) '\(text.shortened)': \(rule)"
  }
}

/// A field of a cron expression. The order of the cases is the order of the fields.
package enum CronField: Int, Hashable, Sendable, CaseIterable {
  case minute, hour, dayOfMonth, month, dayOfWeek

  /// The name that crontab(5) gives the field.
  package var name: String {
    switch self {
    case .minute: "minute"
    case .hour: "hour"
    case .dayOfMonth: "day of month"
    case .month: "month"
    case .dayOfWeek: "day of week"
    }
  }

  /// The values for which `*` stands. A day of the week can also be written as 7, which is Sunday, like 0.
  package var range: ClosedRange<Int> {
    switch self {
    case .minute: 0...59
    case .hour: 0...23
    case .dayOfMonth: 1...31
    case .month: 1...12
    case .dayOfWeek: 0...6
    }
  }

  /// The names of the values from `range.lowerBound` on; empty for a field of numbers only.
  var names: [String] {
    switch self {
    case .minute, .hour, .dayOfMonth: []
    case .month: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
    case .dayOfWeek: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
    }
  }

  /// The largest number that can be written in the field.
  var largest: Int { self == .dayOfWeek ? 7 : range.upperBound }

  /// The values that can be written, for messages.
  var values: String {
    let numbers = "a number from \(range.lowerBound) to \(largest)"
    guard let first = names.first, let last = names.last else { return numbers }
    return "\(numbers) or a name from \(first) to \(last)"
  }
}

extension Substring {
  /// The first 40 bytes of a text that is ASCII.
  var shortened: String { utf8.count > 40 ? prefix(40) + "..." : String(self) }
}
