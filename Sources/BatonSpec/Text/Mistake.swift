/// Why a text is not a valid value. The hint is the end of a message such as "'budget' must be a duration, not '30'".
struct Mistake: Error, Equatable {
  var hint: String

  /// A mistake for which the message "must be …, not …" says enough.
  static let plain = Mistake(hint: "")

  static func didYouMean(_ text: String) -> Mistake { Mistake(hint: ", did you mean \(quoted(text))?") }

  static func because(_ reason: String) -> Mistake { Mistake(hint: ": \(reason)") }
}
