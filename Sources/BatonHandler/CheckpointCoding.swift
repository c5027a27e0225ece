package import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Encodes a handler's cursor to the bytes that the store keeps: JSON with the cursor and its version.
package enum CheckpointCoding {
  /// Encodes the cursor with sorted keys, so that equal cursors give equal bytes. Sets are the exception, because they
  /// have no order.
  /// - Throws: the error of the cursor's `encode(to:)`.
  package static func encode<Cursor: Encodable>(_ cursor: Cursor, version: Int) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try versioned(encoder.encode(cursor), version)
  }

  /// Encodes the cursor of `Batches` to the same bytes, without an encoder, which takes 9 µs (`perf`, benchmark B12).
  static func encode(_ cursor: Offset) -> [UInt8] {
    versioned(#"{"offset":\#(cursor.offset)}"#.utf8, Offset.version)
  }

  /// An object with the cursor and the version. It is not a type with these properties, because an encoder takes 1.4 µs
  /// longer for that (one core of 2026).
  private static func versioned(_ cursor: some Collection<UInt8>, _ version: Int) -> [UInt8] {
    Array(#"{"cursor":"#.utf8) + cursor + Array(#","version":\#(version)}"#.utf8)
  }

  /// Decodes the cursor. The version is compared first, because bytes of another version may not fit the type.
  /// - Parameter identifier: the request's identifier, for the error message.
  /// - Throws: `HandlerError` with the code `.otherVersion`, or `DecodingError`.
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

private struct VersionedCursor<Cursor: Decodable>: Decodable {
  var cursor: Cursor
}
