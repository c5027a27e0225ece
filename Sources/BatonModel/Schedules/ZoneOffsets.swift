/// The rules of a time zone: how far its clocks are ahead of UTC at each instant.
///
/// Two requirements hold for every zone of the tz database (https://www.iana.org/time-zones): an offset is between -24
/// and +24 hours, and two changes of the offset are at least `shortestTimeBetweenChanges` apart (the least is 95 hours,
/// in Freetown in 1939). A change may have any size within these limits: half an hour in Lord Howe, a whole day in Apia
/// in 2011.
package struct ZoneOffsets: Sendable {
  /// The offset in seconds at an instant, in seconds since 1970 UTC. It is positive east of Greenwich. The same instant
  /// has to give the same offset each time.
  package let offset: @Sendable (_ secondsSince1970: Int64) -> Int

  /// - Parameter offset: the offset in seconds at an instant, in seconds since 1970 UTC. It has to be a pure function.
  package init(_ offset: @escaping @Sendable (_ secondsSince1970: Int64) -> Int) { self.offset = offset }

  /// UTC, whose offset is always 0.
  package static let utc = ZoneOffsets { _ in 0 }

  /// If the offsets at two instants that are no further apart are equal, the offset did not change between them.
  package static let shortestTimeBetweenChanges = Duration.seconds(2 * window)

  /// More seconds than any offset has, and than any change.
  static let window: Int64 = 26 * 3_600

  /// The time that clocks show at `instant`.
  package func localTime(at instant: Int64) -> CivilTime {
    CivilTime(secondsSince1970: instant + Int64(offset(instant)))
  }

  /// The instant at which clocks show `time`, in seconds since 1970 UTC. For a time that comes twice, this is the first
  /// instant. For a time that is skipped, this is the first instant after the gap. A later time never gives an earlier
  /// instant.
  package func instant(of time: CivilTime) -> Int64 {
    let start = time.secondsSince1970 - Self.window
    let expected = time.secondsSince1970 - Int64(offset(start))
    guard let change = firstChange(after: start, through: time.secondsSince1970 + Self.window), expected >= change
    else { return expected }
    return max(change, time.secondsSince1970 - Int64(offset(change)))
  }

  /// The latest time that clocks have shown at `instant` or before. It is later than the time that they show at
  /// `instant` if they were set back shortly before.
  func latestLocalTime(through instant: Int64) -> CivilTime {
    let shown = localTime(at: instant)
    guard let change = firstChange(after: instant - Self.window, through: instant) else { return shown }
    return max(shown, localTime(at: change - 1))
  }

  /// The first instant after `start` at which the offset is another one than at `start`, found by binary search.
  /// - Parameter end: at most `shortestTimeBetweenChanges` after `start`.
  /// - Returns: `nil` if the offset does not change until `end`.
  func firstChange(after start: Int64, through end: Int64) -> Int64? {
    let before = offset(start)
    guard offset(end) != before else { return nil }
    var (unchanged, changed) = (start, end)
    while changed - unchanged > 1 {
      let middle = unchanged + (changed - unchanged) / 2
      if offset(middle) == before { unchanged = middle } else { changed = middle }
    }
    return changed
  }
}
