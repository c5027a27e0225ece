/// Why a command could not do its work: what happened, where, and what to do about it. A failure like any other: the
/// definition's retry rule decides what follows.
package struct CommandError: Error, Sendable, Hashable, CustomStringConvertible {
  package struct Code: Hashable, Sendable {
    package let name: String
    private init(_ name: String) { self.name = name }

    /// The command does not exist, or not on PATH.
    package static let notFound = Code("notFound")
    /// It exists, and the system does not run it.
    package static let notExecutable = Code("notExecutable")
    /// A word of it has a placeholder that does not exist.
    package static let badCommand = Code("badCommand")
    package static let directoryMissing = Code("directoryMissing")
    /// More or longer arguments than the system takes.
    package static let argumentsTooLong = Code("argumentsTooLong")
    /// It ended with a status other than 0.
    package static let exitStatus = Code("exitStatus")
    /// A signal that the worker did not send ended it.
    package static let killed = Code("killed")
    /// What it wrote to `BATON_PROGRESS_FD` cannot be understood, or is too long.
    package static let badProgress = Code("badProgress")
    /// The items cannot be listed, or cannot be passed as the definition says.
    package static let badItems = Code("badItems")
    /// The host, not the command: no process, no folder, no file could be made.
    package static let host = Code("host")
  }

  package let code: Code
  package let message: String
  /// What kind of failure it is, of few values: `exit 3`, `signal SIGSEGV`, else the code's name.
  package let type: String

  package init(_ code: Code, _ message: String, type: String? = nil) {
    self.code = code
    self.message = message
    self.type = type ?? code.name
  }

  package var description: String { message }
}

/// The command stopped because its launch expired, or was withdrawn. An outcome, never an error: the next launch goes
/// on from the last commit.
package struct CommandExpired: Error, Hashable, Sendable {
  /// False if SIGKILL had to end it at the deadline.
  package let isGraceful: Bool

  package init(isGraceful: Bool) { self.isGraceful = isGraceful }
}
