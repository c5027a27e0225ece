import BatonModel
import BatonProcess

/// The file that a command's first word names. It is found as execvp(3) finds it: a word with a slash is a path
/// relative to the working directory; any other word is searched on `PATH`.
struct CommandExecutable: Sendable {
  let path: String
  let name: String
  let directory: String
  let host: HostName

  /// - Parameter isOwnFolder: whether `directory` is the empty folder of the launch, in which no program can be.
  /// - Throws: `CommandError` if the directory or the file does not exist, or if the file cannot be run.
  init(_ name: String, directory: String, isOwnFolder: Bool, searchPath: String, host: HostName) throws {
    self.name = name
    self.directory = directory
    self.host = host
    guard SystemCall.isFolder(directory) else {
      throw CommandError(
        .directoryMissing,
        "the working directory \(directory) is not a folder on \(host): make it there, or change 'directory' "
          + "in the definition")
    }
    guard !isOwnFolder || !name.contains("/") || name.hasPrefix("/") || SystemCall.exists(directory + "/" + name) else {
      throw CommandError(
        .notFound,
        "there is no command '\(name)' on \(host): without 'directory' a command runs in an empty folder, which is "
          + "made for each launch; set 'directory' to the folder of the program, or write its whole path in 'command'")
    }
    path = try Self.find(name, directory: directory, searchPath: searchPath, host: host)
  }

  private static func find(_ name: String, directory: String, searchPath: String, host: HostName) throws -> String {
    if name.contains("/") {
      return try check(name.hasPrefix("/") ? name : directory + "/" + name, name: name, host: host)
    }
    let folders = searchPath.split(separator: ":", omittingEmptySubsequences: false)
    let candidates = folders.map { $0.isEmpty ? "\(directory)/\(name)" : "\($0)/\(name)" }
    if let found = candidates.first(where: { SystemCall.isRegularFile($0) && SystemCall.isExecutable($0) }) {
      return found
    }
    if let found = candidates.first(where: { SystemCall.isRegularFile($0) }) {
      return try check(found, name: name, host: host)
    }
    throw CommandError(
      .notFound,
      "there is no command '\(name)' on \(host) in \(searchPath): install it there, give its full path, "
        + "or set PATH in the definition's 'environment'")
  }

  private static func check(_ path: String, name: String, host: HostName) throws -> String {
    guard SystemCall.exists(path) else {
      throw CommandError(
        .notFound, "there is no command '\(name)' on \(host): \(path) does not exist; put it there, or change 'command'"
      )
    }
    guard SystemCall.isRegularFile(path) else {
      throw CommandError(.notExecutable, "the command '\(name)' on \(host) is not a file: \(path)")
    }
    guard SystemCall.isExecutable(path) else {
      throw CommandError(
        .notExecutable, "the command '\(name)' on \(host) may not be run by the worker's user: chmod +x \(path)")
    }
    return path
  }
}

extension CommandExecutable {
  /// Explains why the system did not start the command.
  func explain(_ error: any Error) -> CommandError {
    guard let error = error as? SystemError else { return CommandError(.host, "\(path) on \(host): \(error)") }
    switch error.code {
    case .argumentsTooLong:
      return CommandError(
        .argumentsTooLong,
        "the arguments of '\(name)' are longer than \(host) accepts: lower 'batchSize', or set 'pass' to stdin or file"
      )
    case .notAProgram:
      return CommandError(
        .notExecutable,
        "\(path) on \(host) is not a program that this system can run; a script must begin with a line such as "
          + "#!/bin/sh"
      )
    case .interpreterMissing:
      return CommandError(
        .notExecutable,
        "\(host) cannot run \(path): the interpreter that its first line names, or a library, is not there")
    case .notFenced:
      return CommandError(
        .host, "\(host) could not fence '\(name)' in, so it did not run: \(error); 'baton doctor' there says more")
    case .notPermitted:
      return CommandError(
        .notPermitted,
        "\(host) did not run '\(name)': it, or its working directory, leads to another file than was permitted: \(error)"
      )
    case .directoryNotEntered:
      return CommandError(.directoryMissing, "\(host) cannot enter the working directory \(directory): \(error)")
    default:
      return CommandError(.host, "\(host) cannot start \(path): \(error)")
    }
  }
}
