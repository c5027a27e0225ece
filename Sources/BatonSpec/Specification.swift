package import BatonModel

/// The definitions that a set of YAML sources declares, and everything that is wrong with them.
///
/// If `hasErrors` is true, apply nothing: `definitions` then holds only what could be read beside the errors.
package struct Specification: Sendable {
  /// The definitions in the order of the sources, without those that have an error.
  package private(set) var definitions: [LocatedDefinition] = []
  /// All errors and warnings, in the order of the sources, and then by position.
  package var problems: [Problem] { findings.filter { $0.severity != .note } }
  /// All errors, warnings and notes, in the order of the sources, and then by position.
  package private(set) var findings: [Problem] = []

  package var hasErrors: Bool { problems.contains { $0.severity == .error } }
  package var errors: [Problem] { problems.filter { $0.severity == .error } }
  package var warnings: [Problem] { problems.filter { $0.severity == .warning } }

  /// The same specification with every warning as an error, for a reader who lets nothing doubtful pass.
  package var withWarningsAsErrors: Specification {
    var strict = self
    for index in strict.findings.indices where strict.findings[index].severity == .warning {
      strict.findings[index].severity = .error
    }
    return strict
  }

  /// Reads every document of every source, and checks the definitions against each other. It never throws: `problems`
  /// has all mistakes at once.
  package init(parsing sources: [Source], options: SpecificationOptions) {
    self.init(sources: sources, unreadable: [], options: options)
  }

  package init(parsing source: Source, options: SpecificationOptions) {
    self.init(parsing: [source], options: options)
  }

  init(sources: [Source], unreadable: [Problem], options: SpecificationOptions) {
    var readings = sources.map { SourceReading($0, options: options) }
    Declarations.check(&readings)
    definitions = readings.flatMap(\.definitions)
    findings = unreadable + readings.flatMap { $0.report.sorted() }
  }
}

/// A definition with the place of its declaration.
package struct LocatedDefinition: Hashable, Sendable {
  package var definition: Definition
  package var file: String
  /// The place of the value of `identifier`.
  package var position: Position
}

/// What the reading of a specification depends on beside the text of its sources.
package struct SpecificationOptions: Sendable {
  /// The current time. It decides only whether a date gets a warning, because it is in the past or more than a
  /// week off.
  package var now: Timestamp
  package var defaultDirectory: DefaultDirectory
  /// Tells whether an absolute path exists on this machine; `nil` means that paths are not checked. A missing path is
  /// only a warning, because the hosts that run the job may have it.
  package var exists: (@Sendable (String) -> Bool)?
  /// Tells whether there is a file at an absolute path on this machine, for warnings about scripts that stand beside
  /// the job file and are looked for elsewhere; `nil` means that no such file is looked for.
  package var hasFile: (@Sendable (String) -> Bool)?
  /// How many definitions a source may have. One more is read, so that it is noticed; the rest of the source is not.
  package var mostDefinitions: Int

  package init(
    now: Timestamp, defaultDirectory: DefaultDirectory = .perLaunch, exists: (@Sendable (String) -> Bool)? = nil,
    hasFile: (@Sendable (String) -> Bool)? = nil, mostDefinitions: Int = .max
  ) {
    self.mostDefinitions = mostDefinitions
    self.now = now
    self.defaultDirectory = defaultDirectory
    self.exists = exists
    self.hasFile = hasFile
  }
}

/// The directory of commands whose `work` has no key `directory`.
package enum DefaultDirectory: Hashable, Sendable {
  /// `work.directory` stays `nil`, and each launch starts in an empty folder of its own (`apply` and `submit -f`).
  case perLaunch
  /// `work.directory` becomes the absolute path of the folder of the YAML file (`run` and `up`).
  case folderOfFile
}
