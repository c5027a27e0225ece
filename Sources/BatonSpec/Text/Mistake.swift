/// Why a text is not the value it should be: the end of a sentence such as "'budget' must be a duration, not '30'…".
struct Mistake: Error, Equatable {
  var hint: String

  /// Nothing to add to "must be …, not …".
  static let plain = Mistake(hint: "")

  static func didYouMean(_ text: String) -> Mistake { Mistake(hint: ", did you mean \(quoted(text))?") }

  static func because(_ reason: String) -> Mistake { Mistake(hint: ": \(reason)") }
}
