/// `--color`, which every command takes and which is read before the command is: errors of the command line have
/// colours too.
enum ColourOption {
  static let words = CommandEnvironment.Colour.allCases.map(\.rawValue)
  static let mistake = "--color must be one of \(words.joined(separator: ", "))"

  /// The arguments without the option, and its value: nil if it is not given, and nil within if it is none of the
  /// words. What stands after `--` is no option.
  static func split(_ arguments: [String]) -> ([String], CommandEnvironment.Colour??) {
    var (rest, colour): ([String], CommandEnvironment.Colour??) = ([], nil)
    var index = 0
    while index < arguments.count, arguments[index] != "--" {
      let argument = arguments[index]
      if argument == "--color" {
        let word = index + 1 < arguments.count ? arguments[index + 1] : ""
        colour = .some(CommandEnvironment.Colour(rawValue: word))
        index += 1
      } else if argument.hasPrefix("--color=") {
        colour = .some(CommandEnvironment.Colour(rawValue: String(argument.dropFirst("--color=".count))))
      } else {
        rest.append(argument)
      }
      index += 1
    }
    return (rest + arguments[min(index, arguments.count)...], colour)
  }
}
