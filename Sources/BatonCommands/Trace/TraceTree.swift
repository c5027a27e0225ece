import BatonTelemetry

/// Spans by their parents.
struct TraceTree {
  /// Those without a parent in the trace, and those under the submission: it is over at once, and everything that
  /// follows would stand under it. By start.
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

  /// `root` and all below it, each with how deep it stands. A span that is its own ancestor is under no root.
  func branch(_ root: SpanRecord) -> [(span: SpanRecord, depth: Int)] {
    var found: [(span: SpanRecord, depth: Int)] = []
    var children = children
    var stack = [(span: root, depth: 0)]
    while let next = stack.popLast() {
      found.append(next)
      // Taken out, so that two spans of one id cannot make a circle.
      stack += (children.removeValue(forKey: next.span.id) ?? []).reversed().map { ($0, next.depth + 1) }
    }
    return found
  }
}

extension SpanRecord {
  /// Of spans that begin at one time: the order of a request's life.
  fileprivate var rank: Int {
    switch role {
    case .submit: 0
    case .complete: 2
    case .wait, .launch, .run, .batch, .expire, nil: 1
    }
  }
}
