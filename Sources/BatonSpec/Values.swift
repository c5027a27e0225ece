package import BatonModel

/// The values of a definition as they are written outside of YAML too: on a command line, in a configuration file.
package enum Values {
  /// `500ms`, `30s`, `1h30m` …, from zero to 10 years.
  package static func duration(_ text: String) throws(ValueError) -> Duration {
    do {
      return try DurationText.parse(text)
    } catch {
      throw ValueError(description: "'\(text)' is not \(DurationText.examples)\(error.hint)")
    }
  }

  /// A duration from submission, or a date of RFC 3339.
  package static func earliestBeginDate(_ text: String) throws(ValueError) -> EarliestBeginDate {
    do throws(Mistake) {
      if DateText.looksLikeDate(text) { return .at(try DateText.parse(text)) }
      return .afterSubmission(try DurationText.parse(text))
    } catch {
      throw ValueError(
        description: "'\(text)' is neither \(DurationText.examples) nor \(DateText.examples)\(error.hint)")
    }
  }

  /// The candidate that `word` most likely was meant to be, nil if none is near.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    Suggestion.nearest(to: word, among: candidates)
  }
}

/// Why a text is not the value that it should be, and what it might have been meant to be.
package struct ValueError: Error, Sendable, CustomStringConvertible {
  package var description: String
}
