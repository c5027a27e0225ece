package import BatonModel

/// What a set of YAML sources declares, and everything that is wrong with them.
///
/// If `hasErrors`, apply nothing: `definitions` then holds only what could be read beside the errors.
package struct Specification: Sendable {
  /// In the order of the sources; without those that have an error of their own.
  package private(set) var definitions: [LocatedDefinition] = []
  /// All errors and warnings, in the order of the sources, then by position.
  package var problems: [Problem] { findings.filter { $0.severity != .note } }
  /// The problems, and notes on what is in order, in the order of the sources, then by position.
  package private(set) var findings: [Problem] = []

  package var hasErrors: Bool { problems.contains { $0.severity == .error } }
  package var errors: [Problem] { problems.filter { $0.severity == .error } }
  package var warnings: [Problem] { problems.filter { $0.severity == .warning } }

  /// Reads every document of every source and checks them against each other. Never throws: what is wrong is in
  /// `problems`, all of it at once.
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

/// A definition and where it was declared.
package struct LocatedDefinition: Hashable, Sendable {
  package var definition: Definition
  package var file: String
  /// The value of `identifier`.
  package var position: Position

  package init(definition: Definition, file: String, position: Position) {
    self.definition = definition
    self.file = file
    self.position = position
  }
}

/// What the reading of a specification depends on beside its text.
package struct SpecificationOptions: Sendable {
  /// Judges dates: a week off, or past. It decides nothing else.
  package var now: Timestamp
  package var defaultDirectory: DefaultDirectory
  /// Says whether there is a file or folder of an absolute path on this machine; nil: it is not looked at. What is missing
  /// is a warning, because the hosts that run the job may have it.
  package var exists: (@Sendable (String) -> Bool)?

  package init(
    now: Timestamp, defaultDirectory: DefaultDirectory = .perLaunch, exists: (@Sendable (String) -> Bool)? = nil
  ) {
    self.now = now
    self.defaultDirectory = defaultDirectory
    self.exists = exists
  }
}

/// Where a command runs whose `work` names no `directory`.
package enum DefaultDirectory: Hashable, Sendable {
  /// `work.directory` stays nil: an empty folder made for each launch (`apply`).
  case perLaunch
  /// The absolute path of the YAML's folder (`run` and `up`).
  case folderOfFile
}
