import BatonModel
import BatonSpec

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Console {
  /// Reads YAML files and folders of them, and writes every problem in them to standard error.
  /// - Parameter applies: whether the caller applies what it reads, so that an error says that nothing was applied.
  /// - Throws: a `CommandFailure` with status `badSpecification` if a file has an error; the caller may then
  ///   apply nothing.
  func definitions(
    in paths: [String], directory: DefaultDirectory = .perLaunch, isStrict: Bool = false, applies: Bool = true
  ) throws -> [LocatedDefinition] {
    let specification = specification(in: paths, directory: directory, isStrict: isStrict)
    for problem in specification.problems { note(painted(problem)) }
    guard !specification.hasErrors else {
      throw CommandFailure(.badSpecification, specification.summary + (applies ? "; nothing was applied" : ""))
    }
    return specification.definitions
  }

  /// Reads YAML files and folders of them, and writes nothing.
  /// - Parameters:
  ///   - looksAtFiles: whether to warn about folders and programs that jobs name and this machine does not have.
  ///   - isStrict: whether warnings are errors.
  func specification(
    in paths: [String], directory: DefaultDirectory = .perLaunch, looksAtFiles: Bool = false, isStrict: Bool = false
  ) -> Specification {
    let exists: (@Sendable (String) -> Bool)? =
      looksAtFiles ? { @Sendable path in FileManager.default.fileExists(atPath: path) } : nil
    let specification = Specification(
      reading: paths, input: (environment.readInput, environment.currentDirectory),
      options: SpecificationOptions(
        now: environment.now(), defaultDirectory: directory, exists: exists, hasFile: { Self.hasFile($0) }))
    return isStrict ? specification.withWarningsAsErrors : specification
  }

  private static func hasFile(_ path: String) -> Bool {
    var isDirectory = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory
  }

  /// The problem as compilers print it: `jobs/export.yaml:7:3: error: …`, then the line of the file, and a caret
  /// below it.
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
  /// How many errors there are: `2 errors in 1 file`.
  var summary: String {
    let files = Set(errors.map(\.file)).count
    return "\(counted(errors.count, "error")) in \(counted(files, "file"))"
  }
}
