package import BatonModel
package import BatonTelemetry

/// The time of a request from its submission to its end, cut into segments: at each moment the request is in exactly
/// one phase.
package struct TraceTimeline: Hashable, Sendable {
  package enum Phase: Hashable, Sendable {
    /// The request is not eligible yet, because of an earliest begin date, spacing, a backoff, or the live request of
    /// its identifier.
    case scheduled
    /// The request is eligible, and no host has taken it.
    case waiting
    case running
    /// The request has ended, and an operator has not asked for a retry yet.
    case ended
  }

  package struct Segment: Hashable, Sendable {
    package var phase: Phase
    package var time: Interval
    /// For a scheduled segment, the code of the obstacle that held the request, if the wait after the segment names it.
    package var cause: String?
  }

  /// The time from the submission to the end, or to when the trace was read.
  package let whole: Interval
  /// The segments in order, without gaps. Neighbours have different phases.
  package let segments: [Segment]

  package init(_ trace: RequestTrace) {
    let start = trace.spans.map(\.start).min() ?? trace.asOf
    let hasEnded = trace.open.isEmpty && trace.state.isEnded
    whole = Interval(from: start, to: hasEnded ? trace.spans.map(\.end).max() ?? start : trace.asOf)
    segments = Self.segments(trace, whole)
  }

  package func duration(_ phase: Phase) -> Duration {
    segments.reduce(.zero) { $1.phase == phase ? $0 + $1.time.duration : $0 }
  }

  // MARK: Cutting

  private static func segments(_ trace: RequestTrace, _ whole: Interval) -> [Segment] {
    func times(_ role: Names.Span) -> [Interval] {
      trace.spans(role).map { Interval(from: $0.start, to: $0.end).clipped(to: whole) }
    }
    var (launches, waits, ends) = (Sweep(times(.launch)), Sweep(times(.wait)), Sweep(times(.complete)))
    let edges = (times(.launch) + times(.wait) + times(.complete) + [whole]).flatMap { [$0.from, $0.to] }
    let cuts = Set(edges).sorted()
    var found: [Segment] = []
    for (from, to) in zip(cuts, cuts.dropFirst()) {
      let (isRunning, isWaiting) = (launches.covers(from), waits.covers(from))
      _ = ends.covers(from)
      let isEnded = ends.began(after: launches) && ends.began(after: waits)
      let phase: Phase = isRunning ? .running : isWaiting ? .waiting : isEnded ? .ended : .scheduled
      found.add(Segment(phase: phase, time: Interval(from: from, to: to)))
    }
    return found.map { $0.phase == .scheduled ? $0.caused(by: trace.spans(.wait)) : $0 }
  }
}

extension TraceTimeline.Segment {
  /// The segment with its cause: the wait that begins when the segment ends says what held the request.
  fileprivate func caused(by waits: [SpanRecord]) -> Self {
    var segment = self
    segment.cause = waits.first { $0.start == time.to }?.text(Names.Attribute.heldBy)
    return segment
  }
}

extension [TraceTimeline.Segment] {
  fileprivate mutating func add(_ segment: Element) {
    if let last, last.phase == segment.phase {
      self[count - 1].time.to = segment.time.to
    } else {
      append(segment)
    }
  }
}

/// Tells, for one time after another, whether one of the intervals covers it.
private struct Sweep {
  private let intervals: [Interval]
  private var next = 0
  private var end: Timestamp?
  /// The start of the last interval that began at or before the time of the last call.
  private var lastStart: Timestamp?

  init(_ intervals: [Interval]) { self.intervals = intervals.sorted { $0.from < $1.from } }

  /// Whether one of the intervals covers `time`.
  /// - Parameter time: at or after the time of the last call.
  mutating func covers(_ time: Timestamp) -> Bool {
    while next < intervals.count, intervals[next].from <= time {
      end = max(end ?? intervals[next].to, intervals[next].to)
      lastStart = intervals[next].from
      next += 1
    }
    return end.map { time < $0 } ?? false
  }

  /// Whether an interval has begun, and began after the last interval of `other`.
  func began(after other: Sweep) -> Bool {
    guard let lastStart else { return false }
    return other.lastStart.map { $0 < lastStart } ?? true
  }
}

extension RequestTrace {
  /// The state of the request as its spans show it.
  package var state: RequestState {
    let last = spans.max { $0.start < $1.start || ($0.start == $1.start && !$0.isLast && $1.isLast) }
    if spans.contains(where: { $0.role == .launch && isOpen($0) }) { return .running }
    if spans.contains(where: { $0.role == .wait && isOpen($0) }) { return .ready }
    guard let last, last.role == .complete else { return .scheduled }
    return last.text(Names.Attribute.requestState).flatMap(RequestState.init) ?? .succeeded
  }
}

extension SpanRecord {
  fileprivate var isLast: Bool { role == .complete }
}
