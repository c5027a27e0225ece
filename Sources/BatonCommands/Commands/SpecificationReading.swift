import BatonModel
import BatonSpec

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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

  /// - Parameter looksAtFiles: folders and programs that jobs name and this machine lacks are warned of.
  func specification(
    in paths: [String], directory: DefaultDirectory = .perLaunch, looksAtFiles: Bool = false
  ) -> Specification {
    let exists: (@Sendable (String) -> Bool)? =
      looksAtFiles ? { @Sendable path in FileManager.default.fileExists(atPath: path) } : nil
    return Specification(
      reading: paths,
      options: SpecificationOptions(now: environment.now(), defaultDirectory: directory, exists: exists))
  }

  /// As a compiler prints it: `jobs/export.yaml:7:3: error: …`, the line, and a caret.
  func painted(_ problem: Problem) -> String {
    let style = style(of: .error)
    let severity =
      problem.severity == .note
      ? style.bold("note:") : style.paint("\(problem.severity.rawValue):", problem.severity == .error ? .red : .yellow)
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
