package import BatonModel

/// Reads values in the notation of job files where they stand outside of YAML: on a command line or in a settings file.
package enum Values {
  /// Reads a duration such as `500ms`, `30s` or `1h30m`, from zero to 10 years.
  package static func duration(_ text: String) throws(ValueError) -> Duration {
    do {
      return try DurationText.parse(text)
    } catch {
      throw ValueError(description: "'\(text)' is not \(DurationText.examples)\(error.hint)")
    }
  }

  /// Reads a size such as `512MiB` or `10GB`, in bytes.
  package static func size(_ text: String) throws(ValueError) -> Int64 {
    do {
      return try SizeText.parse(text)
    } catch {
      throw ValueError(description: "'\(text)' is not \(SizeText.examples)\(error.hint)")
    }
  }

  /// Reads an earliest begin date: a duration from the submission, or a date of RFC 3339.
  package static func earliestBeginDate(_ text: String) throws(ValueError) -> EarliestBeginDate {
    do throws(Mistake) {
      if DateText.looksLikeDate(text) { return .at(try DateText.parse(text)) }
      return .afterSubmission(try DurationText.parse(text))
    } catch {
      throw ValueError(
        description: "'\(text)' is neither \(DurationText.examples) nor \(DateText.examples)\(error.hint)")
    }
  }

  /// The candidate that is most similar to `word`; `nil` if none of them is similar.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    Suggestion.nearest(to: word, among: candidates)
  }
}

/// Why a text is not a valid value, with a suggestion where there is one.
package struct ValueError: Error, Sendable, CustomStringConvertible {
  package var description: String
}
