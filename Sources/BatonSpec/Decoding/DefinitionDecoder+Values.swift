extension DefinitionDecoder {
  /// Reports that a field must be something else. If the value was refused before, nothing is reported again.
  mutating func refuse(_ field: Field, _ expected: String, hint: String = "") {
    if field.value.isRefused { return }
    let message =
      field.value.isNothing
      ? "\(field.label) has no value; it must be \(expected)"
      : "\(field.label) must be \(expected), not \(field.value.summary)\(hint)"
    report.error(message, at: field.value.position)
  }

  /// The text of a quoted scalar, or of a plain scalar that every YAML reader takes for text.
  mutating func text(_ field: Field) -> String? {
    guard case .scalar(let scalar) = field.value.content else { return refused(field, "text") }
    guard scalar.isPlain else { return scalar.text }
    switch PlainScalar(scalar.text) {
    case .text: return scalar.text
    case .nothing: return refused(field, "text")
    case .boolean, .wholeNumber, .fraction:
      return refused(field, "text", hint: "; put it in quotes: \"\(scalar.text)\"")
    case .trap(let reason): return refused(field, "text", hint: ": \(reason); put it in quotes: \"\(scalar.text)\"")
    }
  }

  /// The text of a scalar as the file has it, for values in which a number or a boolean stands for its own text:
  /// arguments of a command, items, labels, and values of environment variables. A scalar on whose meaning YAML readers
  /// disagree must be quoted.
  mutating func literal(_ node: Node, label: String) -> String? {
    guard case .scalar(let scalar) = node.content else {
      if !node.isRefused { report.error("\(label) must be text, not \(node.summary)", at: node.position) }
      return nil
    }
    if scalar.text.unicodeScalars.contains("\0"), !label.hasSuffix("'work.command'") {
      report.error("\(label) has a NUL character", at: node.position)
    }
    guard scalar.isPlain else { return scalar.text }
    switch PlainScalar(scalar.text) {
    case .text, .boolean, .wholeNumber, .fraction: return scalar.text
    case .nothing: report.error("\(label) has no value; write \"\" for empty text", at: node.position)
    case .trap(let reason):
      report.error(
        "\(label) needs quotes: \(quoted(scalar.text)) is not text to every reader (\(reason)); write \"\(scalar.text)\"",
        at: node.position)
    }
    return nil
  }

  mutating func flag(_ field: Field?) -> Bool? {
    guard let field else { return nil }
    guard case .scalar(let scalar) = field.value.content else { return refused(field, "true or false") }
    if !scalar.isPlain { return refused(field, "true or false", hint: " in quotes; remove the quotes") }
    switch scalar.text {
    case "true": return true
    case "false": return false
    case "yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "True", "TRUE":
      return refused(field, "true or false", hint: ", which not every YAML reader takes for true; write true")
    case "no", "No", "NO", "off", "Off", "OFF", "n", "N", "False", "FALSE":
      return refused(field, "true or false", hint: ", which not every YAML reader takes for false; write false")
    default: return refused(field, "true or false")
    }
  }

  mutating func integer(_ field: Field?, in range: ClosedRange<Int>) -> Int? {
    guard let field else { return nil }
    let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    guard case .scalar(let scalar) = field.value.content else { return refused(field, expected) }
    if !scalar.isPlain {
      return refused(field, expected, hint: Int(scalar.text) == nil ? "" : " in quotes; remove the quotes")
    }
    switch PlainScalar(scalar.text) {
    case .wholeNumber:
      if let value = Int(scalar.text), range.contains(value), String(value) == scalar.text { return value }
      return refused(field, expected)
    case .trap(let reason): return refused(field, expected, hint: ": \(reason)")
    case .text, .nothing, .boolean, .fraction: return refused(field, expected)
    }
  }

  mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(_ field: Field, _: Choice.Type) -> Choice? {
    choice(field, among: Choice.allCases.map { ($0.rawValue, $0) })
  }

  mutating func choice<Choice>(_ field: Field, among choices: [(name: String, value: Choice)]) -> Choice? {
    let names = choices.map(\.name)
    let expected = names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    guard let text = scalar(field, expected) else { return nil }
    if let match = choices.first(where: { $0.name == text }) { return match.value }
    let nearest = Suggestion.nearest(to: text, among: names)
    return refused(field, expected, hint: nearest.map { ", did you mean \(quoted($0))?" } ?? "")
  }

  /// The result of `parse` for the text of a scalar, quoted or not.
  mutating func parsed<Value>(
    _ field: Field?, _ expected: String, _ parse: (String) throws(Mistake) -> Value
  ) -> Value? {
    guard let field, let text = scalar(field, expected) else { return nil }
    do throws(Mistake) {
      return try parse(text)
    } catch {
      return refused(field, expected, hint: error.hint)
    }
  }

  mutating func positiveDuration(_ field: Field?) -> Duration? {
    guard let field, let duration = parsed(field, DurationText.examples, DurationText.parse) else { return nil }
    if duration > .zero { return duration }
    return refused(field, "longer than zero")
  }

  mutating func scalar(_ field: Field, _ expected: String) -> String? {
    guard case .scalar(let scalar) = field.value.content, !field.value.isNothing else {
      return refused(field, expected)
    }
    return scalar.text
  }

  /// Reports as `refuse(_:_:hint:)` does, and returns `nil` for the value.
  mutating func refused<Value>(_ field: Field, _ expected: String, hint: String = "") -> Value? {
    refuse(field, expected, hint: hint)
    return nil
  }
}
