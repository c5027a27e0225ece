/// Why the system did not do what Baton asked of it. The message says what happened, where, and what to do about it.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
  package struct Code: Hashable, Sendable {
    package let name: String
    private init(_ name: String) { self.name = name }

    /// A call of the system failed.
    package static let failed = Code("failed")
    /// A file is of another kind than it has to be.
    package static let unusable = Code("unusable")
    /// Another process uses a file. It may end soon, as one does whose supervisor was killed.
    package static let inUse = Code("inUse")
    /// This process cannot have control groups.
    package static let noControlGroups = Code("noControlGroups")
    /// The arguments of a program are longer or more than the system accepts.
    package static let argumentsTooLong = Code("argumentsTooLong")
    /// A file that was to be run is not a program that this system can run.
    package static let notAProgram = Code("notAProgram")
    /// The interpreter that a script names, or a library of a program, does not exist.
    package static let interpreterMissing = Code("interpreterMissing")
    /// A program cannot be started in its working directory.
    package static let directoryNotEntered = Code("directoryNotEntered")
    /// There is no `baton-exec` that starts processes.
    package static let noStarter = Code("noStarter")
    /// A program was not started, because it could not be fenced in.
    package static let notFenced = Code("notFenced")
    /// A program or a directory is not the one that was permitted.
    package static let notPermitted = Code("notPermitted")
  }

  package let code: Code
  package let message: String
  /// The errno of the call that failed; `nil` if no call failed, or if its errno is not known.
  package let cause: Int32?

  package init(_ code: Code, _ message: String, cause: Int32? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { message }
}
