package import BatonModel

extension Timestamp {
  /// The distance from `now` in words: `3m 12s ago`, `in 2h 5m`, or `now`.
  package func relative(to now: Timestamp) -> String {
    let distance = self - now
    if distance.magnitude < .seconds(1) { return "now" }
    return distance > .zero ? "in \(distance.inWords)" : "\(distance.magnitude.inWords) ago"
  }
}

extension Duration {
  package var magnitude: Duration { self < .zero ? .zero - self : self }
}

extension String {
  /// The lines that are not blank, each made plain by `onOneLine`.
  package var plainLines: [String] {
    split(whereSeparator: \.isNewline).map { String($0).onOneLine }.filter { !$0.allSatisfy(\.isWhitespace) }
  }

  /// The last line of the text, for one row of a table: programs say what went wrong in their last line.
  package var lastLine: String { plainLines.last ?? "" }
}
