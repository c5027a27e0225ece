import BatonJSON
import BatonModel

extension EarlierText {
  /// What a plan says: `1 waiting request keeps an earlier definition, version 2 ('baton apply --refreeze' gives it
  /// this one)`.
  var lines: [String] { lines("an earlier definition", refreezing: "baton apply --refreeze") }

  /// - Parameters:
  ///   - what: what the requests keep.
  ///   - command: the command that gives them the newest definition.
  func lines(_ what: String, refreezing command: String) -> [String] {
    if count == 0 { return [] }
    let (verb, whom) = count == 1 ? ("keeps", "it") : ("keep", "them")
    let numbers = versions.map(String.init).joined(separator: ", ")
    let which = versions.isEmpty ? "" : versions.count == 1 ? ", version \(numbers)" : ", of the versions \(numbers)"
    let rest = count - named.count
    return ["  \(counted(count, "waiting request")) \(verb) \(what)\(which) ('\(command)' gives \(whom) this one)"]
      + named.map { "    \($0)" } + (rest > 0 ? ["    and \(rest) more"] : [])
  }
}
