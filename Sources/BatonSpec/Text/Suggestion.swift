/// Finds the word that a misspelt word was probably meant to be.
enum Suggestion {
  /// The candidate that is most similar to `word`; `nil` if none of them is similar. In a tie the first candidate wins.
  static func nearest(to word: String, among candidates: [String]) -> String? {
    // A long text is not a misspelt key, and its distance would be expensive to compute.
    guard word.utf8.count <= 64 else { return nil }
    let lowered = Array(word.lowercased())
    let ranked = candidates.map { ($0, distance(lowered, Array($0.lowercased()))) }
    guard let best = ranked.min(by: { $0.1 < $1.1 }) else { return nil }
    return best.1 <= max(1, min(word.count, best.0.count) / 3) ? best.0 : nil
  }

  /// The number of insertions, deletions, replacements and swaps of neighbours between two words (the restricted
  /// Damerau–Levenshtein distance).
  static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var before: [Int] = []
    var previous = Array(0...right.count)
    for (row, character) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var cost = min(previous[column + 1] + 1, current[column] + 1, previous[column] + (character == other ? 0 : 1))
        if row > 0, column > 0, character == right[column - 1], left[row - 1] == other {
          cost = min(cost, before[column - 1] + 1)
        }
        current.append(cost)
      }
      (before, previous) = (previous, current)
    }
    return previous[right.count]
  }
}
