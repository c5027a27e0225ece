import BatonJSON
import BatonModel
import BatonTelemetry

extension Waterfall {
  /// How many launches are shown one by one.
  struct Limits: Hashable, Sendable {
    /// If there are more launches than this, some are left out.
    var launches = 20
    /// How many of the first launches, and how many of the last, are always shown.
    var atEachEnd = 5
    /// How many launches between them are shown at most: the longest, their waits included, if they took at least twice
    /// the usual time.
    var longest = 5
  }

  /// All rows; with `limits`, only as many launches as people read, and of a divided request lanes in their place.
  func rows(_ limits: Limits?) -> [WaterfallRow] {
    if let limits, turns.count > limits.launches, isDivided { return beginning + laneRows + ending }
    return beginning + turnRows(limits.map(shown) ?? Set(turns.indices)) + ending
  }

  private func turnRows(_ shown: Set<Int>) -> [WaterfallRow] {
    var rows: [WaterfallRow] = []
    var hidden: [Turn] = []
    for (index, turn) in turns.enumerated() {
      if shown.contains(index) {
        rows += hidden.row
        hidden = []
        rows += turn.rows
      } else {
        hidden.append(turn)
      }
    }
    return rows + hidden.row
  }

  private func shown(_ limits: Limits) -> Set<Int> {
    guard turns.count > limits.launches else { return Set(turns.indices) }
    let middle = turns.indices.dropFirst(limits.atEachEnd).dropLast(limits.atEachEnd)
    let ordered = middle.sorted { (turns[$1].duration, $0) < (turns[$0].duration, $1) }
    // Only launches that stand out are shown: where all took about as long, no launch is worth more than another.
    let usual = ordered.isEmpty ? .zero : turns[ordered[ordered.count / 2]].duration
    let longest = ordered.prefix(limits.longest).filter { turns[$0].duration >= usual * 2 }
    var shown = Set(turns.indices).subtracting(middle).union(longest)
    // A row that replaces a single launch saves nothing.
    for index in middle where shown.isSuperset(of: [index - 1, index + 1]) { shown.insert(index) }
    return shown
  }
}

extension Waterfall.Turn {
  /// How long the launch took, together with what came before it.
  fileprivate var duration: Duration {
    guard let start = rows.compactMap(\.start).min() else { return .zero }
    return launch.end - start
  }
}

extension [Waterfall.Turn] {
  /// One row in the place of all these launches; no row if there are no launches.
  fileprivate var row: [WaterfallRow] {
    guard let last else { return [] }
    let top = flatMap(\.rows).filter { $0.depth == 0 }
    let start = top.compactMap(\.start).min() ?? last.launch.start
    let endings = compactMap(\.launch.ending).tallied
    let finished = count - endings.reduce(0) { $0 + $1.count }
    let words = endings.map { "\($0.count) \($0.words)" } + (finished > 0 ? ["\(finished) finished"] : [])
    return [
      WaterfallRow(
        name: "… \(counted(count, "more launch", plural: "more launches"))", marks: top.flatMap(\.marks),
        duration: last.launch.end - start, note: words.joined(separator: ", "), colour: .grey)
    ]
  }
}
