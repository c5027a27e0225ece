import BatonModel
import BatonTelemetry

/// The rows of a trace, launch by launch.
struct Waterfall: Hashable, Sendable {
  /// One launch, and what came before it: the time until it was due, its wait, and what they are made of.
  struct Turn: Hashable, Sendable {
    var rows: [WaterfallRow]
    var launch: SpanRecord
  }

  /// The submission.
  var beginning: [WaterfallRow] = []
  var turns: [Turn] = []
  /// What came after the last launch.
  var ending: [WaterfallRow] = []

  /// - Parameter showsAll: every event; otherwise the first few of a name within one span.
  init(_ trace: RequestTrace, _ timeline: TraceTimeline, showsAll: Bool) {
    let builder = WaterfallRows(trace: trace, timeline: timeline, showsAll: showsAll)
    for item in builder.items {
      ending += item.rows
      switch item.role {
      case .submit where turns.isEmpty: (beginning, ending) = (beginning + ending, [])
      case .launch: (turns, ending) = (turns + [Turn(rows: ending, launch: item.span)], [])
      default: continue
      }
    }
  }
}
