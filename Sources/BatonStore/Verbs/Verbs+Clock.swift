package import BatonModel

/// A reading of the clocks, with which the next coordinator continues the steady clock.
package struct ClockReading: Hashable, Sendable {
  package var moment: Moment
  /// The boot of the machine that `instant` belongs to. Instants of two boots cannot be compared.
  package var boot: String
  package var instant: Instant
  /// The epoch of the coordinator whose reading it is; 0 for a reading that is not stored.
  package var steward: Int64

  package init(moment: Moment, boot: String, instant: Instant, steward: Int64 = 0) {
    self.steward = steward
    self.moment = moment
    self.boot = boot
    self.instant = instant
  }
}

extension Verbs {
  package func saveClock(_ reading: ClockReading) throws {
    try demandStewardship()
    try prepare(.saveClock).run(
      reading.moment.date, reading.moment.steady, reading.boot, reading.instant.nanoseconds, tenure?.epoch ?? 0)
  }

  package func clock() throws -> ClockReading? {
    try prepare(.clock).first { row in
      ClockReading(
        moment: Moment(date: row.time(0), steady: row.time(1)), boot: row.text(2),
        instant: Instant(nanoseconds: row.int64(3)), steward: row.int64(4))
    }
  }
}

extension Query {
  static let clock = Query("SELECT date, steady, boot, instant, steward FROM clock WHERE id = 1")
  static let saveClock = Query(
    """
    INSERT INTO clock (id, date, steady, boot, instant, steward) VALUES (1, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET date = excluded.date, steady = excluded.steady, boot = excluded.boot,
      instant = excluded.instant, steward = excluded.steward
    """)
}
