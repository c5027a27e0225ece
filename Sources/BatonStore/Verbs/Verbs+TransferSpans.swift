import BatonModel

/// The spans of transfers. They are made of the rows of transfers, which keep how a transfer ended, where, and which
/// launch was told of it first.
extension Verbs {
  /// Queues the span of a transfer that has just ended.
  func queueTransferSpan(_ key: TransferKey) throws {
    guard queuesSpans else { return }
    let isSampled = try prepare(.isSampled).first(key.request.rawValue) { $0.bool(0) } ?? false
    try queueSpans(.transfer, of: key.request.rawValue, launch: key.index, isSampled: isSampled)
  }

  /// Forgets the spans of transfers that are dropped and have not been sent: their rows go, and other transfers get
  /// their numbers.
  func dropTransferSpans(of request: RequestID) throws {
    guard queuesSpans else { return }
    try need(.spans(request))
    try prepare(.dropTransferSpans).run(request.rawValue, SpanParts.transfer.rawValue)
  }

  /// The sources of the spans of transfers, by the positions of the occasions.
  func transfers(_ occasions: [ArraySlice<SpanKey>]) throws -> [Int: [SpanSource]] {
    let positions = occasions.indices.filter { occasions[$0].first?.parts == .transfer }
    let keys = positions.compactMap { occasions[$0].first }
    if keys.isEmpty { return [:] }
    let lists = keys.map { [$0.request.rawValue, $0.launch] as [any Bindable] }
    let found = try prepare(.transferSource).each(lists) { position, row in
      var source = try self.source(keys[position], row)
      let transfer = try TransferJSON.decode(Transfer.self, row.text(10))
      let status = try TransferJSON.decode(TransferStatus.self, row.text(11))
      source.transfer = SpanSource.EndedTransfer(transfer, status, on: HostName(row.text(12)))
      return source
    }
    return Dictionary(uniqueKeysWithValues: zip(positions, found))
  }

  /// Adds the transfers that started the launches of these sources, where the request has transfers.
  func addTransfers(to sources: inout [[SpanSource]], where isThere: [Bool]) throws {
    let places = sources.indices.flatMap { list in
      sources[list].indices.filter { isThere[list] && sources[list][$0].key.parts.contains(.launch) }
        .map { (list: list, source: $0) }
    }
    let lists = places.map { place in
      let key = sources[place.list][place.source].key
      return [key.request.rawValue, key.launch, SpanSource.mostLinkedTransfers] as [any Bindable]
    }
    let found = try prepare(.transfersToldFirst).each(lists) { _, row in
      SpanSource.TransferSpanMark(
        number: row.int(0), orderedAt: try TransferJSON.decode(TransferStatus.self, row.text(1)).orderedAt)
    }
    for (place, marks) in zip(places, found) { sources[place.list][place.source].startedBy = marks }
  }
}

extension SpanKey {
  /// Whether the occasion is about a launch of the request, or about its end.
  var isOfLaunch: Bool { parts != .submit && parts != .transfer }
}

extension Query {
  static let isSampled = Query("SELECT is_sampled FROM request WHERE id = ?")
  static let dropTransferSpans = Query("DELETE FROM unsent_span WHERE request = ? AND parts = ?")
  static let endedTransfers = Query("SELECT number FROM transfer WHERE request = ? AND state > 0 ORDER BY number")
  static let transfersToldFirst = Query(
    "SELECT number, status FROM transfer WHERE request = ? AND first_told = ? ORDER BY number LIMIT ?")
  /// The definition is the one of the request's first submission, so that the span stays the same if another submission
  /// takes the request's place.
  static let transferSource = Query(
    """
    SELECT i.name, r.number, coalesce(r.submitted_as, r.definition), r.trace_id, r.span_id, r.is_sampled,
      r.parent_span_id, r.submitted_at, r.shard, NULL, t.content, t.status, h.name
    FROM transfer t JOIN request r ON r.id = t.request JOIN identifier i ON i.id = r.identifier
      JOIN host h ON h.id = t.ended_on
    WHERE t.request = ? AND t.number = ? AND t.state > 0
    """)
}
