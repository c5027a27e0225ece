package import ArgumentParser
import BatonModel
import BatonSpec

/// A word on the command line in the place of a subcommand, although no subcommand has that name.
package struct UnknownCommand: Hashable, Sendable {
  var word: String
  /// The command to which the word was given, such as `baton simulate`.
  var parent: String
  /// The names of the subcommands of `parent`.
  var known: [String]

  /// The first unknown subcommand in a command line, or in a request for help (`help simulate lanch`); `nil` if all
  /// subcommands exist.
  package static func found(in arguments: [String], of root: any ParsableCommand.Type) -> UnknownCommand? {
    let isHelp = arguments.first == "help"
    var command = root
    var parent = root._commandName
    for word in arguments.dropFirst(isHelp ? 1 : 0) {
      let children = command.configuration.subcommands
      // Words after the last subcommand, and all options, are parsed by that subcommand.
      if word.hasPrefix("-") || children.isEmpty && !isHelp { return nil }
      if isHelp, word == "help" { return nil }
      guard let child = children.first(where: { $0._commandName == word }) else {
        return UnknownCommand(word: word, parent: parent, known: children.map { $0._commandName })
      }
      command = child
      parent += " " + word
    }
    return nil
  }

  /// The error message, with advice where the subcommands are listed. The exit status is 64.
  package var message: String {
    let nearest = Values.nearest(to: word, among: known)
    let advice =
      nearest.map { ", did you mean '\($0)'? '\(parent) --help' lists the commands" }
      ?? ": '\(parent) --help' lists the commands"
    return "'\(parent)' has no command '\(word)'".onOneLine + advice
  }
}
