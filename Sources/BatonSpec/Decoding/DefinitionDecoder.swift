import BatonModel

/// What the decoding of a document depends on beside the document itself.
struct DecodingContext {
  var options: SpecificationOptions
  /// The absolute path of the folder of the YAML file; `nil` if the text does not come from a file.
  var folder: String?
}

/// Turns the tree of one YAML document into a definition, and reports everything that is wrong with it.
///
/// Each function reads one key. It returns `nil` if the key is absent, or after it has reported a problem. The
/// definition is valid only if no error was reported.
struct DefinitionDecoder {
  var report: Report
  let context: DecodingContext
  /// Levels whose keys a message has already listed, because it was about an unknown key. Once in a document is enough.
  var listedLevels: Set<Level> = []

  init(report: Report, context: DecodingContext) {
    self.report = report
    self.context = context
  }

  struct Result {
    /// `nil` if an error was reported.
    var definition: Definition?
    /// `nil` if the identifier itself could not be read.
    var declaration: Declaration?
  }

  mutating func decode(_ root: Node) -> Result {
    let errorsBefore = report.errorCount
    guard let fields = topLevel(root) else { return Result() }
    let pattern = identifier(fields)
    let kind = kind(fields)
    // Without identifier or kind the reading goes on with placeholders, so that all other problems are reported
    // as well.
    var definition = Definition(pattern: pattern ?? IdentifierPattern(trusted: "unreadable"), kind: kind ?? .processing)
    readTitles(fields, into: &definition)
    readRequirements(fields, into: &definition)
    readSchedule(fields, into: &definition)
    readLimits(fields, into: &definition)
    readDurations(fields, into: &definition)
    definition.work = work(fields["work"], pattern: pattern)
    definition.spread = spread(fields["work"], kind)
    definition.transfers = transfers(fields["work"])
    if definition.isInOnePiece { leaveUnbounded(&definition, fields) }
    readRetry(fields, into: &definition)
    checkLead(of: definition, kind, fields)
    if let kind { check(fields, against: kind) }
    if let pattern { check(fields, against: pattern) }
    let declaration = zip(pattern, fields["identifier"]).map { Declaration(pattern: $0, position: $1.value.position) }
    let isComplete = report.errorCount == errorsBefore && pattern != nil && kind != nil
    return Result(definition: isComplete ? definition : nil, declaration: declaration)
  }

  private mutating func topLevel(_ root: Node) -> Fields? {
    guard case .mapping(let entries) = root.content else {
      if !root.isRefused {
        report.error(
          "a job must be a mapping of keys such as 'identifier:' and 'kind:', not \(root.summary)", at: root.position)
      }
      return nil
    }
    return fields(entries, .definition, missingAt: root.position)
  }

  private mutating func identifier(_ fields: Fields) -> IdentifierPattern? {
    guard let field = required("identifier", in: fields), let text = text(field) else { return nil }
    if let pattern = IdentifierPattern(text) { return pattern }
    refuse(
      field,
      "parts of letters, digits, '-' and '_' with dots between, such as com.example.export or com.example.export.*",
      hint: hint(forIdentifier: text))
    return nil
  }

  private func hint(forIdentifier text: String) -> String {
    if text.utf8.count > JobIdentifier.maximumBytes { return ": it is longer than 255 bytes" }
    if text.contains("*") { return ": a '*' stands only at the end, after a dot" }
    return ""
  }

  private mutating func kind(_ fields: Fields) -> JobKind? {
    guard let field = required("kind", in: fields) else { return nil }
    if case .scalar(let scalar) = field.value.content, JobKind(rawValue: scalar.text) == nil,
      Suggestion.nearest(to: scalar.text, among: JobKind.allCases.map(\.rawValue)) == nil
    {
      return refused(field, "refresh, processing or continued", hint: "; write kind: \(Self.exampleOfKind)")
    }
    return choice(field, JobKind.self)
  }

  static let exampleOfKind =
    "processing for work in the background, continued for work that a person watches, or refresh for a short look for news"

  private mutating func readTitles(_ fields: Fields, into definition: inout Definition) {
    definition.title = title(fields["title"])
    definition.subtitle = title(fields["subtitle"])
  }

  private mutating func title(_ field: Field?) -> String? {
    guard let field, let text = text(field) else { return nil }
    let scalars = text.unicodeScalars
    if scalars.count > Definition.Limits.titleLength {
      refuse(field, "text of at most \(Definition.Limits.titleLength) characters")
    } else if scalars.allSatisfy(\.properties.isWhitespace) {
      report.error("\(field.label) is empty; leave the key out if there is nothing to say", at: field.value.position)
    } else if !Line.isAllowed(text) {
      refuse(field, "one line of text without control characters")
    }
    return text
  }
}

private func zip<First, Second>(_ first: First?, _ second: Second?) -> (First, Second)? {
  guard let first, let second else { return nil }
  return (first, second)
}
