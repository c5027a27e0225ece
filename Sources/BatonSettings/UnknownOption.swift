package import ArgumentParser
import BatonModel
import BatonSpec

/// An option on the command line that its command does not have.
///
/// The parser names a missing argument first, and the typing error only when that argument is there.
package struct UnknownOption: Hashable, Sendable {
  /// Such as `--stat`, without a value.
  var option: String
  /// The command to which the option was given, such as `baton list`.
  var command: String
  /// The options of that command.
  var known: [String]

  /// The first long option that its command does not have; `nil` if there is none, or help is asked for.
  package static func found(in arguments: [String], of root: any ParsableCommand.Type) -> UnknownOption? {
    let words = Array(arguments.prefix { $0 != "--" })
    if words.first == "help" || !Set(words).isDisjoint(with: always) { return nil }
    let (command, name) = command(in: words, of: root)
    let known = options(of: command, root)
    let option = words.lazy.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
      .first { !known.contains($0) }
    return option.map { UnknownOption(option: $0, command: name, known: known.sorted()) }
  }

  /// Options that every command has, with which nothing else is looked at.
  private static let always: Set = ["--help", "--version", "--help-hidden"]

  /// The subcommand that the words name.
  private static func command(
    in words: [String], of root: any ParsableCommand.Type
  ) -> (any ParsableCommand.Type, name: String) {
    var (command, name) = (root, root._commandName)
    for word in words {
      guard let child = command.configuration.subcommands.first(where: { $0._commandName == word }) else { break }
      command = child
      name += " " + word
    }
    return (command.configuration.defaultSubcommand ?? command, name)
  }

  /// The long options in the list at the end of the command's help.
  private static func options(of command: any ParsableCommand.Type, _ root: any ParsableCommand.Type) -> Set<String> {
    let help =
      ObjectIdentifier(command) == ObjectIdentifier(root)
      ? root.helpMessage(includeHidden: true, columns: 200)
      : root.helpMessage(for: command, includeHidden: true, columns: 200)
    let lines = help.split(separator: "\n").filter { $0.drop { $0 == " " }.hasPrefix("-") }
    return Set(lines.flatMap { $0.matches(of: /--[A-Za-z0-9][A-Za-z0-9-]*/).map { String($0.output) } })
  }

  /// The error message, with advice where the options are listed. The exit status is 64.
  package var message: String {
    let nearest = Values.nearest(to: option, among: known)
    return "'\(command)' has no option '\(option)'".onOneLine
      + (nearest.map { ", did you mean '\($0)'? " } ?? ": ") + "'\(command) --help' lists the options"
  }
}
