package import BatonModel
import Foundation
import Synchronization

extension ZoneOffsets {
  /// The offsets of a time zone of the IANA, such as `Europe/Berlin`, as Foundation knows them; `nil` for a name that
  /// it does not know. Abbreviations such as `EST` and `CET`, which mean different zones to different people, are not
  /// known here; `UTC` is.
  package static func named(_ name: String) -> ZoneOffsets? {
    known.withLock { known in
      if let zone = known[name] { return zone }
      guard let zone = read(name) else { return nil }
      known[name] = zone
      return zone
    }
  }

  /// Only names that exist are kept, so that the table has a bound.
  private static let known = Mutex<[String: ZoneOffsets]>(["UTC": .utc])

  private static func read(_ name: String) -> ZoneOffsets? {
    guard name.contains("/"), let zone = TimeZone(identifier: name), zone.identifier == name else { return nil }
    return ZoneOffsets { zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval($0))) }
  }
}
