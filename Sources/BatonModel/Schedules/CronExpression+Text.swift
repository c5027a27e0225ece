extension CronExpression {
  /// The most bytes that an expression has. An expression that lists every second minute has about 100.
  package static let mostBytes = 255

  /// Parses an expression: the five fields minute, hour, day of month, month and day of week with spaces between them,
  /// or a macro.
  ///
  /// - `*` is every value.
  /// - `5` is a value, `1,2` a list, and `1-5` a range with both ends.
  /// - `*/15`, `10-50/10` and `5/15` are every 15th, 10th and 15th value of a range, from its first value on. The range
  ///   of `5/15` is from 5 to the largest value.
  /// - `JAN` to `DEC` and `SUN` to `SAT`, in any case, are the names of months and days, also in ranges. 7 is Sunday,
  ///   like 0, and so is `SUN` at the end of a range.
  /// - `L` as day of month is the last day of the month.
  /// - `5#2` or `FRI#2` as day of week is the second Friday of the month. The number after `#` is from 1 to 5.
  /// - `L5` as day of week is the last Friday of the month.
  /// - The macros `@hourly` (`0 * * * *`), `@daily` and `@midnight` (`0 0 * * *`), `@weekly` (`0 0 * * 0`), `@monthly`
  ///   (`0 0 1 * *`), `@yearly` and `@annually` (`0 0 1 1 *`) stand alone.
  ///
  /// If both the day of month and the day of week are restricted, a day matches if either field does (crontab(5)). A
  /// field is restricted unless its list has a `*`. As in croniter, a field that lists every day is also not restricted
  /// if the text of the other field has a `*`: `0 0 1-31 * */2` runs on the days of `*/2` only.
  ///
  /// - Parameter text: printable ASCII, at most `mostBytes` bytes.
  /// - Throws: the first mistake, with what to write instead. An expression that never matches, such as `0 0 30 2 *`,
  ///   is a mistake: its job would never run.
  package init(_ text: String) throws(CronProblem) {
    let fields = try Self.fields(of: text)
    let values = try CronField.allCases.map { field throws(CronProblem) in
      try CronFieldValues(field, fields[field.rawValue])
    }
    self.init(
      text: text, minutes: values[0].values, hours: values[1].values, months: values[3].values,
      days: Self.days(values[2], values[4]))
    guard canMatch else {
      throw CronProblem(
        .dayOfMonth, fields[2],
        "month '\(fields[3].shortened)' never has this day; write L for the last day of the month")
    }
  }

  /// The five fields of the text, or of the expression for which a macro stands.
  private static func fields(of text: String) throws(CronProblem) -> [Substring] {
    let count = text.utf8.count
    guard count <= mostBytes else {
      throw CronProblem("the expression has \(count) bytes, and \(mostBytes) is the limit")
    }
    if text.utf8.contains(9) { throw CronProblem("the expression has a tab; write spaces between the fields") }
    guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw CronProblem(
        "the expression has a control character or a character that is not ASCII; write " + form)
    }
    let fields = text.split(separator: " ")
    guard let first = fields.first else { throw CronProblem("the expression is empty; write " + form) }
    if first.hasPrefix("@") { return try expansion(of: first, alone: fields.count == 1) }
    guard fields.count == CronField.allCases.count else {
      let seconds = fields.count > CronField.allCases.count ? ", without seconds and without years" : ""
      throw CronProblem("the expression has \(counted(fields.count, "field")); write \(form)\(seconds)")
    }
    return fields
  }

  private static let form =
    "five fields, " + CronField.allCases.map(\.name).joined(separator: ", ") + ", such as 30 2 * * 1-5"

  private static func expansion(of macro: Substring, alone: Bool) throws(CronProblem) -> [Substring] {
    let expansion = macros.first { $0.name == macro.lowercased() }?.expansion
    guard alone, let expansion else {
      let names = macros.map(\.name).joined(separator: ", ")
      let wrong = expansion == nil ? "is not a macro that names times" : "is followed by more text"
      throw CronProblem("'\(macro.shortened)' \(wrong); write five fields, or one of \(names) alone")
    }
    return expansion.split(separator: " ")
  }

  private static let macros: [(name: String, expansion: String)] = [
    ("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 1 *"),
  ]

  private static func days(_ month: CronFieldValues, _ week: CronFieldValues) -> CronDays {
    var days = week.days
    (days.monthDays, days.hasLastDay) = (month.values, month.days.hasLastDay)
    days.weekdays = week.values
    days.hasEveryMonthDay = month.hasStar || (week.containsStar && month.listsEveryDayOfMonth)
    days.hasEveryWeekday = week.hasStar || (month.containsStar && week.values.contains(all: 0...6))
    return days
  }

  /// False if no month of the expression ever has a day that matches. A restricted day of week matches in every month
  /// of some year: even February has five Fridays in some leap years.
  private var canMatch: Bool {
    guard days.hasEveryWeekday, !days.hasEveryMonthDay, !days.hasLastDay, let day = days.monthDays.first(from: 1) else {
      return true
    }
    return (1...12).contains { months.contains($0) && day <= CivilDate.length(ofMonth: $0, year: 2000) }
  }
}

/// The values of one field, as they are parsed.
struct CronFieldValues {
  var values = CronValues()
  /// What is special about the days, besides `values`.
  var days = CronDays()
  /// An item of the list is `*`.
  var hasStar = false
  /// The text has a `*`, as in `*/2`.
  let containsStar: Bool

  private let field: CronField
  private let text: Substring

  /// Parses a list with commas between its items. The work is at most 64 steps for each item.
  /// - Parameter text: printable ASCII without spaces.
  init(_ field: CronField, _ text: Substring) throws(CronProblem) {
    (self.field, self.text) = (field, text)
    containsStar = text.utf8.contains(UInt8(ascii: "*"))
    for item in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard !item.isEmpty else {
        throw problem("a list has a comma without a value; write a value on both sides of it")
      }
      try insert(item)
    }
  }

  /// Whether every day of every month is in the list. The list may have `L` in place of 31.
  var listsEveryDayOfMonth: Bool { values.contains(all: 1...30) && (values.contains(31) || days.hasLastDay) }

  private mutating func insert(_ item: Substring) throws(CronProblem) {
    if item == "*" {
      hasStar = true
      values.formUnion(CronValues(field.range))
    } else if try !insertSpecialDay(item) {
      try insertRange(item)
    }
  }

  // MARK: L and #

  /// Inserts an item with `L` or `#`.
  /// - Returns: false if the item has neither.
  private mutating func insertSpecialDay(_ item: Substring) throws(CronProblem) -> Bool {
    let upper = item.uppercased()
    if field == .dayOfWeek, let mark = item.firstIndex(of: "#") {
      try insertNumbered(item[..<mark], item[item.index(after: mark)...])
    } else if field == .dayOfWeek, upper.hasPrefix("L") {
      try insertLast(item.dropFirst())
    } else if field == .dayOfMonth, upper == "L" {
      days.hasLastDay = true
    } else {
      try refuseUnsupported(item, upper)
      return false
    }
    return true
  }

  private mutating func insertNumbered(_ day: Substring, _ number: Substring) throws(CronProblem) {
    let weekday = try value(day, or: "write one day before #, such as 5#2 or FRI#2 for the second Friday")
    guard let number = Self.number(number), (1...5).contains(number) else {
      throw problem(
        "# needs a number from 1 to 5 after it, such as FRI#2 for the second Friday; L5 is the last")
    }
    days.numberedWeekdays.insert(CronDays.index(ofWeekday: weekday % 7, number: number))
  }

  private mutating func insertLast(_ day: Substring) throws(CronProblem) {
    guard let weekday = Self.number(day), weekday <= 7 else {
      throw problem("L needs the number of a day after it, from 0 to 7, such as L5 for the last Friday of the month")
    }
    days.lastWeekdays.insert(weekday % 7)
  }

  /// Explains characters that mean something in other programs.
  private func refuseUnsupported(_ item: Substring, _ upper: String) throws(CronProblem) {
    if item.contains("?") { throw problem("? is not supported; write *") }
    if item.contains("#") { throw problem("# is for days of the week only; write FRI#2 in the last field") }
    if upper.hasPrefix("H") { throw problem("H is not supported; write \(field.values)") }
    if field == .dayOfWeek, upper.hasSuffix("L"), let day = weekday(String(upper.dropLast())) {
      throw problem("write L\(day) for the last such day of the month")
    }
    guard field == .dayOfMonth else { return }
    if upper.hasSuffix("W") || (upper.hasPrefix("W") && Self.number(item.dropFirst()) != nil) {
      throw problem("W is not supported; write a day from 1 to 31, or L for the last day")
    }
    if upper.hasPrefix("L") || upper.hasSuffix("-L") {
      throw problem("L stands alone, for the last day of the month; write a range with numbers, such as 25-31")
    }
  }

  private func weekday(_ text: String) -> Int? { Self.number(text[...]) ?? field.names.firstIndex(of: text) }

  // MARK: Values, ranges and steps

  /// Inserts `5`, `1-5`, `*/15`, `10-50/10` or `5/15`.
  private mutating func insertRange(_ item: Substring) throws(CronProblem) {
    let parts = item.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2 else { throw malformed(item) }
    guard parts.count == 2 else { return insert(try range(item), step: 1) }
    guard let step = Self.number(parts[1]) else { throw problem("a step is a number after /, such as */2") }
    guard step > 0 else { throw problem("a step has to be at least 1; write */1 or *") }
    insert(try steppedRange(parts[0]), step: step)
  }

  private mutating func insert(_ range: ClosedRange<Int>, step: Int) {
    for number in stride(from: range.lowerBound, through: range.upperBound, by: step) {
      values.insert(field == .dayOfWeek ? number % 7 : number)
    }
  }

  /// The range before a step. A value alone stands for the range from it to the end of the field's range.
  private func steppedRange(_ text: Substring) throws(CronProblem) -> ClosedRange<Int> {
    if text == "*" { return field.range }
    let range = try range(text)
    guard !text.contains("-") else { return range }
    return (field == .dayOfWeek ? range.lowerBound % 7 : range.lowerBound)...field.range.upperBound
  }

  /// The range `1-5`, or a value as a range.
  private func range(_ text: Substring) throws(CronProblem) -> ClosedRange<Int> {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count <= 2 else { throw malformed(text) }
    let low = try value(ends[0])
    var high = try value(ends[ends.count - 1])
    // The week of crontab(5) can end with Sunday: SAT-SUN is 6-7.
    if ends.count == 2, high == 0, low > 0, Self.number(ends[1]) == nil { high = 7 }
    guard low <= high else { throw reversed(low, high) }
    return low...high
  }

  private func reversed(_ low: Int, _ high: Int) -> CronProblem {
    let wrapped =
      field == .dayOfWeek && high == 0
      ? "\(low)-7" : "\(high)-\(low), or \(low)-\(field.range.upperBound),\(field.range.lowerBound)-\(high)"
    return problem("the range \(low)-\(high) ends before it begins; write \(wrapped)")
  }

  /// The number or the name of a value.
  /// - Parameter advice: what to write in place of a text that is neither; `nil` for the values of the field.
  private func value(_ text: Substring, or advice: String? = nil) throws(CronProblem) -> Int {
    if let number = Self.number(text) {
      if number >= field.range.lowerBound, number <= field.largest { return number }
      throw problem("\(text.shortened) is not \(field.values)")
    }
    if let index = field.names.firstIndex(of: text.uppercased()) { return field.range.lowerBound + index }
    if let advice { throw problem(advice) }
    throw text.isEmpty || text == "*" ? malformed(self.text) : problem("'\(text.shortened)' is not \(field.values)")
  }

  /// A number in decimal digits. A number of more than four digits becomes 9,999 or more: no field has such a value.
  private static func number(_ digits: Substring) -> Int? {
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return digits.utf8.reduce(0) { min($0 * 10 + Int($1 - 0x30), 100_000) }
  }

  // MARK: Problems

  private func malformed(_ item: Substring) -> CronProblem {
    problem("'\(item.shortened)' is not a value, a range such as 1-5, or a step such as */2")
  }

  private func problem(_ rule: String) -> CronProblem { CronProblem(field, text, rule) }
}
