import BatonModel

extension CommandText {
  /// What is wrong with one argument of a command; `nil` if nothing is.
  static func mistake(in text: String, isWildcard: Bool) -> Mistake? {
    do throws(Mistake) {
      return try CommandText(text).usesWildcard && !isWildcard ? .unknownPlaceholder(placeholder) : nil
    } catch {
      return error
    }
  }
}

extension CommandText.Mistake {
  /// The placeholder that is wrong; `nil` for a mistake that cannot be shown.
  var culprit: String? { if case .unknownPlaceholder(let reference) = self { reference } else { nil } }

  /// The message for the author of a job file.
  var advice: String {
    switch self {
    case .unknownPlaceholder(CommandText.placeholder):
      "'${wildcard}' needs an identifier with a wildcard, such as com.example.export.*"
    case .nul: "a value of 'work.command' has a NUL character, which no program can be given"
    case .unknownPlaceholder(let reference):
      "\(quoted(reference)) is unknown: only ${wildcard} is replaced in a command; "
        + "write \(quoted("$" + reference)) if you mean the text itself"
    }
  }
}

extension EnvironmentName {
  /// What is wrong with the name of an environment variable; `nil` if nothing is.
  static func mistake(in name: String) -> String? {
    guard isName(name) else {
      return "\(quoted(name)) is not a valid name of an environment variable: use letters, digits and '_', and do not "
        + "begin with a digit"
    }
    guard isOwn(name) else { return nil }
    return "\(quoted(name)) is set by Baton itself (all BATON_ names and TRACEPARENT are); choose another name"
  }
}
