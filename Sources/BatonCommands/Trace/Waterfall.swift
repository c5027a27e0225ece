import BatonJSON
import BatonModel
import BatonTelemetry

/// The rows of a trace, grouped by launch, so that some launches can be left out.
struct Waterfall: Hashable, Sendable {
  /// The rows of one launch, and of what came before it: the time until the request was due, and its wait.
  struct Turn: Hashable, Sendable {
    var rows: [WaterfallRow]
    var launch: SpanRecord
    /// Whether the launch still runs.
    var isOpen = false
  }

  /// The rows of the submission.
  var beginning: [WaterfallRow] = []
  var turns: [Turn] = []
  /// The rows of what came after the last launch.
  var ending: [WaterfallRow] = []

  /// - Parameter showsAll: whether every event is shown, rather than the first few of each name in a span.
  init(_ trace: RequestTrace, _ timeline: TraceTimeline, showsAll: Bool) {
    let builder = WaterfallRows(trace: trace, timeline: timeline, showsAll: showsAll)
    for item in builder.items {
      ending += item.rows
      switch item.role {
      case .submit where turns.isEmpty: (beginning, ending) = (beginning + ending, [])
      case .launch:
        (turns, ending) = (turns + [Turn(rows: ending, launch: item.span, isOpen: trace.isOpen(item.span))], [])
      default: continue
      }
    }
  }
}
