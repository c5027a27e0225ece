package import BatonModel

/// The owner's pause of one host: it takes nothing, and what runs is expired.
///
/// People read wall-clock times. Its end is counted on the steady clock, so that a step of the wall clock makes it
/// neither shorter nor longer.
package struct OwnersPause: Hashable, Sendable {
  /// Who asked for it.
  package var by: String
  package var since: Timestamp
  /// Nil: until `resume`.
  package var until: Timestamp?
  /// The same on the clock of this process.
  package var endsAt: Instant?

  /// - Parameter length: nil means until `resume`.
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
  /// What is kept of it while the worker is not running.
  package struct Record: Hashable, Sendable {
    package var by: String
    package var since: Timestamp
    package var until: Timestamp?

    package init(by: String, since: Timestamp, until: Timestamp?) {
      self.by = by
      self.since = since
      self.until = until
    }
  }

  package var record: Record { Record(by: by, since: since, until: until) }

  /// The pause after a restart of the worker; nil if it is over.
  ///
  /// All there is to go by now is the wall clock. One that was set back must not prolong it: what is left is at most
  /// its whole length.
  package init?(_ record: Record, at now: Instant, date: Timestamp) {
    self.init(by: record.by, for: nil, at: now, date: record.since)
    guard let until = record.until else { return }
    let left = min(until - date, until - record.since)
    guard left > .zero else { return nil }
    self.until = date + left
    endsAt = now + left
  }
}
