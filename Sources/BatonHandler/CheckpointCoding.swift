package import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A checkpoint as the store keeps it: JSON of the handler's cursor and of its version.
package enum CheckpointCoding {
  /// The same cursor gives the same bytes, unless it holds a set.
  package static func encode<Cursor: Encodable>(_ cursor: Cursor, version: Int) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try [UInt8](encoder.encode(VersionedCursor(version: version, cursor: cursor)))
  }

  /// - Throws: `HandlerError` with code `.otherVersion`, or what `JSONDecoder` says.
  package static func decode<Cursor: Decodable>(
    _ type: Cursor.Type, version: Int, from bytes: [UInt8], of identifier: JobIdentifier
  ) throws -> Cursor {
    let found = try JSONDecoder().decode(CursorVersion.self, from: Data(bytes)).version
    guard found == version else {
      throw HandlerError(
        .otherVersion,
        "the last checkpoint of \(identifier) has version \(found), this handler reads version \(version): "
          + "keep reading the old one until its requests have ended")
    }
    return try JSONDecoder().decode(VersionedCursor<Cursor>.self, from: Data(bytes)).cursor
  }
}

private struct CursorVersion: Decodable {
  var version: Int
}

private struct VersionedCursor<Cursor> {
  var version: Int
  var cursor: Cursor
}

extension VersionedCursor: Encodable where Cursor: Encodable {}
extension VersionedCursor: Decodable where Cursor: Decodable {}
