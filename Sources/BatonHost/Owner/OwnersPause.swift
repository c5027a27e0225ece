package import BatonModel

/// The owner's pause of one host. While it lasts, the host takes no new launches, and its running launches expire.
///
/// The dates are for people. The end of the pause is measured with the monotonic clock of the worker's process, so that
/// a step of the wall clock makes the pause neither shorter nor longer.
package struct OwnersPause: Hashable, Sendable {
  /// The user who paused the host.
  package var by: String
  package var since: Timestamp
  /// The date of the end; `nil` for a pause until `resume`.
  package var until: Timestamp?
  /// The end by the monotonic clock of this process; `nil` for a pause until `resume`.
  package var endsAt: Instant?

  /// - Parameter length: how long the pause lasts; `nil` for a pause until `resume`.
  package init(by: String, for length: Duration?, at now: Instant, date: Timestamp) {
    self.by = by
    since = date
    until = length.map { date + $0 }
    endsAt = length.map { now + $0 }
  }

  package func isOver(at now: Instant) -> Bool { endsAt.map { $0 <= now } ?? false }

  package var word: OwnersWord { .paused(by: by, until: until) }
}

extension OwnersPause {
  /// The part of a pause that is stored, so that it survives a restart of the worker.
  package struct Record: Hashable, Sendable {
    package var by: String
    package var since: Timestamp
    package var until: Timestamp?
  }

  package var record: Record { Record(by: by, since: since, until: until) }

  /// The rest of a stored pause after a restart of the worker. `nil` if the pause is over.
  ///
  /// After a restart only the wall clock can tell how much is left. The rest is limited to the pause's whole length, so
  /// that a wall clock that was set back does not prolong the pause by more.
  package init?(_ record: Record, at now: Instant, date: Timestamp) {
    self.init(by: record.by, for: nil, at: now, date: record.since)
    guard let until = record.until else { return }
    let left = min(until - date, until - record.since)
    guard left > .zero else { return nil }
    self.until = date + left
    endsAt = now + left
  }
}
