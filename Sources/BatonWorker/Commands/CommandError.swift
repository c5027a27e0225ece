/// Why a command could not do its work. The message says what happened, where, and what to do about it. It is a failure
/// like any other: the retry rule of the definition decides what follows.
package struct CommandError: Error, Sendable, Hashable, CustomStringConvertible {
  package struct Code: Hashable, Sendable {
    package let name: String
    private init(_ name: String) { self.name = name }

    /// The command does not exist, or is not found on PATH.
    package static let notFound = Code("notFound")
    /// The command exists, and the system cannot run it.
    package static let notExecutable = Code("notExecutable")
    /// A word of the command has an unknown placeholder.
    package static let badCommand = Code("badCommand")
    package static let directoryMissing = Code("directoryMissing")
    /// The arguments are longer or more than the system accepts.
    package static let argumentsTooLong = Code("argumentsTooLong")
    /// The command ended with a status other than 0.
    package static let exitStatus = Code("exitStatus")
    /// The command was ended by a signal that the worker did not send.
    package static let killed = Code("killed")
    /// The output to `BATON_PROGRESS_FD` cannot be understood, or is too long.
    package static let badProgress = Code("badProgress")
    /// The items cannot be listed, or cannot be passed as the definition says.
    package static let badItems = Code("badItems")
    /// The problem is on the host, not with the command: a process, a folder or a file could not be made.
    package static let host = Code("host")
    /// The host's owner does not permit the command, or the host cannot fence it in as it has to be.
    package static let notPermitted = Code("notPermittedOnHost")
    /// The host has no such secret, or its file is not safe.
    package static let secretUnavailable = Code("secretUnavailable")
  }

  package let code: Code
  package let message: String
  /// The kind of failure, one of few values: `exit 3`, `signal SIGSEGV`, or the code's name. It becomes the span
  /// attribute `error.type`.
  package let type: String

  package init(_ code: Code, _ message: String, type: String? = nil) {
    self.code = code
    self.message = message
    self.type = type ?? code.name
  }

  package var description: String { message }
}

/// The command stopped because its launch expired or was withdrawn. This is an outcome, not an error: the next launch
/// continues from the last commit.
package struct CommandExpired: Error, Hashable, Sendable {
  /// `false` if the command did not stop by itself and was ended by SIGKILL at the deadline.
  package let isGraceful: Bool
}
