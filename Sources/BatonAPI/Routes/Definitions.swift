package import BatonCoordinator
import BatonJSON
package import BatonModel
package import BatonSpec
import BatonStore
import BatonWire
import HTTPTypes

extension Route {
  static let definitions = [
    Route(.get, "/v1/definitions", .method("Definitions"), query: ["pattern", "after", "limit"], list),
    Route(.put, "/v1/definitions", .method("Apply"), query: ["dryRun", "strict"], rehearsal: "AbleHosts", apply),
    Route(.get, "/v1/definitions/{pattern}", .method("Definitions")) { call in
      let pattern = try call.pattern
      let found = try await call.run { try await $0.definitions(named: [pattern]) }
      guard let report = found.first(where: { $0.definition.pattern == pattern }) else {
        throw HTTPFailure(404, "notFound", "no definition has the pattern '\(pattern)'")
      }
      return Answer(JSONValue(report))
    },
    Route(.get, "/v1/definitions/{pattern}/versions", .method("Versions")) { call in
      let pattern = try call.pattern
      let versions = try await call.run { try await $0.versions(of: pattern) }
      return Answer(["versions": .array(JSONValue.versions(versions))])
    },
    Route(.delete, "/v1/definitions/{pattern}", .method("Remove")) { call in
      let pattern = try call.pattern
      try await call.run { try await $0.remove(pattern) }
      return Answer(JSONValue(removed: pattern))
    },
  ]

  @Sendable private static func list(_ call: Call) async throws -> Answer {
    let named = call.query.list("pattern")
    do { try WireLimits.definitions.check(named.count) } catch { throw HTTPFailure.invalid(error.message) }
    let patterns = try named.map { text throws(HTTPFailure) in try Call.pattern(text) }
    let after = try call.query.text("after").map { text throws(HTTPFailure) in try Call.pattern(text) }
    let limit = try call.query.number("limit", in: Page.limits) ?? 100
    let found = try await call.run { try await $0.definitions(named: patterns) }
    let rest = found.filter { report in after.map { $0 < report.definition.pattern } ?? true }.prefix(limit + 1)
    let page = Page(
      Array(rest), limit: limit, json: { JSONValue($0) }, position: { JSONValue($0.definition.pattern.rawValue) })
    return Answer(page.json("definitions"))
  }

  /// Applies all definitions of the body, or none. With `dryRun` it says what that would change.
  @Sendable private static func apply(_ call: Call) async throws -> Answer {
    let (isRehearsal, isStrict) = (try call.query.truth("dryRun"), try call.query.truth("strict"))
    try call.checkType(SentDefinitions.types)
    let sent = try SentDefinitions(
      try await call.body(Call.largestBody), isJSON: call.contentType == "application/json", isStrict: isStrict,
      now: call.now)
    guard !sent.hasErrors else {
      let failure = HTTPFailure(422, "invalid", "the definitions have mistakes; nothing was applied")
      return Answer(failure, ["problems": .array(sent.problems.map { JSONValue($0) })])
    }
    try sent.checkCount()
    let warnings = JSONValue.array(sent.problems.map { JSONValue($0) })
    guard !isRehearsal else {
      let plan = try await call.run { try await Plan(sent.definitions, asking: $0) }
      return Answer(["plan": .array(plan.json), "warnings": warnings])
    }
    let outcomes = try await call.run { api in
      await ApplicationOutcome.counting(try await api.apply(sent.definitions), api)
    }
    return Answer(["definitions": .array(outcomes.map { JSONValue($0) }), "warnings": warnings])
  }
}

/// Definitions that a caller has sent, as YAML or as JSON.
package struct SentDefinitions: Sendable {
  static let types = ["application/yaml", "application/json"]

  package private(set) var definitions: [Definition]
  package private(set) var problems: [Problem]

  package var hasErrors: Bool { problems.contains { $0.severity == .error } }

  /// - Throws: an `HTTPFailure` with the status 400 if the body is not JSON, although it should be.
  package init(
    _ bytes: [UInt8], isJSON: Bool = false, isStrict: Bool = false, now: Timestamp
  ) throws(HTTPFailure) {
    let sources =
      isJSON ? try Self.sources(ofJSON: bytes) : [(source: Source(name: "body", bytes: bytes), start: Position.start)]
    let specification = Specification(
      parsing: sources.map(\.source),
      options: SpecificationOptions(now: now, mostDefinitions: WireLimits.definitions.most))
    definitions = specification.definitions.map(\.definition)
    let starts = Dictionary(sources.map { ($0.source.name, $0.start) }, uniquingKeysWith: { first, _ in first })
    problems = (isStrict ? specification.withWarningsAsErrors : specification).problems.map { problem in
      problem.moved(to: starts[problem.file] ?? .start)
    }
  }

  /// - Throws: an `HTTPFailure` if there are more definitions than one call may have.
  package func checkCount() throws(HTTPFailure) {
    do { try WireLimits.definitions.check(definitions.count) } catch { throw .invalid(error.message) }
  }

  /// JSON is YAML but for its escapes of characters beyond U+FFFF. So the definitions are read by the one reader that
  /// knows every rule. A list is read element by element.
  private static func sources(ofJSON bytes: [UInt8]) throws(HTTPFailure) -> [(source: Source, start: Position)] {
    let tree = try Call.json(bytes)
    guard case .array(let elements) = tree.value else {
      return [(Source(name: "body", bytes: plain(bytes, tree.range)), position(of: tree.range.lowerBound, in: bytes))]
    }
    do { try WireLimits.definitions.check(elements.count) } catch { throw .invalid(error.message) }
    // The elements are in the order of the text, so each place is counted on from the one before.
    var (place, offset) = (Position.start, 0)
    return elements.enumerated().map { index, element in
      place.advance(over: bytes[offset..<element.range.lowerBound])
      offset = element.range.lowerBound
      return (Source(name: "body[\(index)]", bytes: plain(bytes, element.range)), place)
    }
  }

  private static func position(of offset: Int, in bytes: [UInt8]) -> Position {
    var place = Position.start
    place.advance(over: bytes[..<offset])
    return place
  }

  /// The text with pairs of escaped surrogates as the characters that they stand for, and with plain slashes: libyaml
  /// reads neither. The reader of JSON has found that each surrogate has its other half.
  private static func plain(_ bytes: [UInt8], _ range: Range<Int>) -> [UInt8] {
    var (text, index): ([UInt8], Int) = ([], range.lowerBound)
    while index < range.upperBound {
      guard bytes[index] == UInt8(ascii: "\\") else {
        text.append(bytes[index])
        index += 1
        continue
      }
      if bytes[index + 1] == UInt8(ascii: "/") {
        text.append(UInt8(ascii: "/"))
        index += 2
      } else if let high = surrogate(bytes, index), let low = surrogate(bytes, index + 6),
        (0xD800..<0xDC00).contains(high),
        let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
      {
        text.append(contentsOf: String(Character(scalar)).utf8)
        index += 12
      } else {
        text.append(contentsOf: bytes[index...index + 1])
        index += 2
      }
    }
    return text
  }

  /// The surrogate that is escaped at an offset; `nil` if none is.
  private static func surrogate(_ bytes: [UInt8], _ index: Int) -> UInt32? {
    guard index + 6 <= bytes.count, bytes[index...].starts(with: "\\u".utf8),
      let unit = UInt32(String(decoding: bytes[(index + 2)..<(index + 6)], as: UTF8.self), radix: 16),
      (0xD800..<0xE000).contains(unit)
    else { return nil }
    return unit
  }
}

extension Problem {
  /// The problem at its place in a text in which its source begins at `start`.
  fileprivate func moved(to start: Position) -> Problem {
    var problem = self
    if position.line == 1 { problem.position.column += start.column - 1 }
    problem.position.line += start.line - 1
    return problem
  }
}

extension JSONValue {
  fileprivate init(_ problem: Problem) {
    self = [
      "file": JSONValue(problem.file), "line": JSONValue(problem.position.line),
      "column": JSONValue(problem.position.column), "severity": JSONValue(problem.severity.rawValue),
      "message": JSONValue(problem.message),
    ]
  }
}
