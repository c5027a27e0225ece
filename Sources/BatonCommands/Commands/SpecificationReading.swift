import BatonModel
import BatonSpec

extension Console {
  /// Reads YAML files and folders, and tells everything that is wrong or doubtful in them.
  /// - Throws: a failure with status `badSpecification`: nothing may be applied then.
  func definitions(in paths: [String], directory: DefaultDirectory = .perLaunch) throws -> [LocatedDefinition] {
    let specification = specification(in: paths, directory: directory)
    for problem in specification.problems { note(painted(problem)) }
    guard !specification.hasErrors else {
      throw CommandFailure(.badSpecification, specification.summary + "; nothing was applied")
    }
    return specification.definitions
  }

  func specification(in paths: [String], directory: DefaultDirectory = .perLaunch) -> Specification {
    Specification(
      reading: paths, options: SpecificationOptions(now: environment.now(), defaultDirectory: directory))
  }

  /// As a compiler prints it: `jobs/export.yaml:7:3: error: …`, the line, and a caret.
  func painted(_ problem: Problem) -> String {
    let style = style(of: .error)
    let severity = style.paint("\(problem.severity.rawValue):", problem.severity == .error ? .red : .yellow)
    let place = style.bold("\(problem.file.onOneLine):\(problem.position):")
    let headline = place + " \(severity) \(problem.message.onOneLine)"
    return problem.excerpt.map { "\(headline)\n\("\($0)".onItsLines)" } ?? headline
  }
}

extension Specification {
  /// `2 errors in 1 file`.
  var summary: String {
    let files = Set(errors.map(\.file)).count
    return "\(counted(errors.count, "error")) in \(counted(files, "file"))"
  }
}
