internal import BatonModel

/// The pokes that a request stands for, and the submissions that replaced its parameters, for its spans.
extension Verbs {
  /// Remembers a submission that was just accepted, if it joined or replaced a request. A poke is remembered even if it
  /// made the request, because the row of the request does not contain its id.
  func rememberJoining(_ submission: Submission, _ receipt: SubmissionReceipt) throws {
    guard submission.poke != nil || receipt.replaced else { return }
    // The client's span that made the request is the parent of the request's `submit` span already.
    let span = receipt.replaced ? submission.parentSpanID : nil
    let poke = submission.poke == nil ? nil : submission.id
    guard poke != nil || span != nil else { return }
    let request = receipt.request.rawValue
    try need(.history(receipt.request))
    try prepare(.insertJoining).run(request, poke, span == nil ? nil : submission.trace.traceID, span)
    try prepare(.dropJoining).run(request, JoinedSubmissions.limit)
  }

  /// What joined each of the requests.
  func joined(to requests: [RequestID]) throws -> [JoinedSubmissions] {
    try prepare(.joining).each(requests.map { [$0.rawValue] }) { _, row in
      (position: row.int(0), poke: row.optionalText(1), trace: row.optionalTraceID(2), span: row.optionalSpanID(3))
    }.map(Self.joined)
  }

  private static func joined(
    _ rows: [(position: Int, poke: String?, trace: TraceID?, span: SpanID?)]
  ) -> JoinedSubmissions {
    var joined = JoinedSubmissions(pokes: rows.compactMap(\.poke), dropped: (rows.first?.position ?? 1) - 1)
    for row in rows {
      guard let trace = row.trace, let span = row.span else { continue }
      let context = TraceContext(traceID: trace, spanID: span, isSampled: true)
      if !joined.spans.contains(context) { joined.spans.append(context) }
    }
    return joined
  }
}

extension Query {
  static let insertJoining = Query(
    """
    INSERT INTO joining (request, position, poke, trace_id, span_id)
    VALUES (?1, (SELECT coalesce(max(position), 0) + 1 FROM joining WHERE request = ?1), ?2, ?3, ?4)
    """)
  static let dropJoining = Query(
    """
    DELETE FROM joining WHERE request = ?1
      AND position <= (SELECT max(position) FROM joining WHERE request = ?1) - ?2
    """)
  static let joining = Query(
    "SELECT position, poke, trace_id, span_id FROM joining WHERE request = ? ORDER BY position")
}
