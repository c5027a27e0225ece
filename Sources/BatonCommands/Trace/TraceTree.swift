import BatonJSON
import BatonModel
import BatonTelemetry

/// The spans of a trace as a forest of parents and children.
struct TraceTree {
  /// The spans without a parent in the trace, and the children of the submission, by their start. A submission is over
  /// at once, and otherwise everything that follows would stand below it.
  let roots: [SpanRecord]
  private let children: [SpanID: [SpanRecord]]

  init(_ spans: [SpanRecord]) {
    let ordered = spans.enumerated().sorted {
      ($0.element.start, $0.element.rank, $0.offset) < ($1.element.start, $1.element.rank, $1.offset)
    }.map(\.element)
    let nested = Set(spans.filter { $0.role != .submit }.map(\.id))
    func isRoot(_ span: SpanRecord) -> Bool { span.parent.map { !nested.contains($0) } ?? true }
    roots = ordered.filter(isRoot)
    children = Dictionary(grouping: ordered.filter { !isRoot($0) }) { $0.parent ?? $0.id }
  }

  /// The span `root` and all spans below it, each with its depth. A span that is its own ancestor is below no root.
  func branch(_ root: SpanRecord) -> [(span: SpanRecord, depth: Int)] {
    var found: [(span: SpanRecord, depth: Int)] = []
    var children = children
    var stack = [(span: root, depth: 0)]
    while let next = stack.popLast() {
      found.append(next)
      // The children are removed, so that two spans with one id cannot make a cycle.
      stack += (children.removeValue(forKey: next.span.id) ?? []).reversed().map { ($0, next.depth + 1) }
    }
    return found
  }
}

extension SpanRecord {
  /// The order of spans that begin at the same time: as they follow each other in the life of a request.
  fileprivate var rank: Int {
    switch role {
    case .submit: 0
    case .complete: 2
    case .wait, .launch, .run, .batch, .expire, .transfer, nil: 1
    }
  }
}
