import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The file in which a pause survives a restart of its worker: `pause.json` in the data folder. The file exists only
/// during a pause.
struct OwnersPauseFile: Hashable, Sendable {
  let folder: String

  private static let name = "pause.json"
  var path: String { folder + "/" + Self.name }

  enum Content: Hashable, Sendable {
    case none
    case paused(OwnersPause.Record)
    /// The file exists but cannot be understood. The owner may have asked for a pause.
    case unreadable(String)
  }

  func read() -> Content {
    switch SystemRoot(folder).text(Self.name) {
    case .missing: return .none
    case .unreadable(let why): return .unreadable(why)
    case .text(let text):
      guard let record = try? JSONDecoder().decode(OwnersPause.Record.self, from: Data(text.utf8)) else {
        return .unreadable("its content is not a stored pause")
      }
      return .paused(record)
    }
  }

  /// Writes a pause, or removes the file if `record` is `nil`. The change is durable when this method returns.
  func write(_ record: OwnersPause.Record?) throws {
    guard let record else { return try DurableFile.remove(path) }
    try DurableFile.write(Array(try JSONEncoder().encode(record)) + [UInt8(ascii: "\n")], to: path)
  }
}

extension OwnersPause.Record: Codable {
  private enum CodingKeys: CodingKey { case by, since, until }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      by: try values.decode(String.self, forKey: .by), since: try values.decode(StatusDate.self, forKey: .since).date,
      until: try values.decodeIfPresent(StatusDate.self, forKey: .until)?.date)
  }

  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(by, forKey: .by)
    try values.encode(StatusDate(since), forKey: .since)
    try values.encodeIfPresent(until.map { StatusDate($0) }, forKey: .until)
  }
}
