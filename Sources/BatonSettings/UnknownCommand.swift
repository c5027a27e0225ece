package import ArgumentParser
import BatonModel
import BatonSpec

/// A word in the place of a command's name, when no command has that name.
package struct UnknownCommand: Hashable, Sendable {
  var word: String
  /// The command that it would belong to, such as `baton simulate`.
  var parent: String
  /// The names of the commands below `parent`.
  var known: [String]

  /// The first unknown command in a call, or in a question for help (`help simulate lanch`); nil if all are there.
  package static func found(in arguments: [String], of root: any ParsableCommand.Type) -> UnknownCommand? {
    let isHelp = arguments.first == "help"
    var command = root
    var parent = root._commandName
    for word in arguments.dropFirst(isHelp ? 1 : 0) {
      let children = command.configuration.subcommands
      // What follows the last command, and every option, is for the command to judge.
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

  /// What is wrong and where the commands are listed; its exit status is 64.
  package var message: String {
    let nearest = Values.nearest(to: word, among: known)
    let advice =
      nearest.map { ", did you mean '\($0)'? '\(parent) --help' lists all of them" }
      ?? ": '\(parent) --help' lists what there is"
    return "'\(parent)' has no command '\(word)'".onOneLine + advice
  }
}
