import BatonModel
import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a command finds in the file that `BATON_TRANSFERS` names: a list in JSON of how transfers of the request have
/// ended.
struct TransferNotice: Encodable {
  var number: Int
  var url: String
  var group: String
  /// `done`, `failed` or `cancelled`.
  var state: String
  /// Whether no launch has acknowledged the event before.
  var new: Bool
  var path: String?
  var bytes: Int64?
  var sha256: String?
  /// Why it failed, as a word for programs and in words for people.
  var code: String?
  var error: String?

  /// - Parameter path: where the command finds the file.
  init(_ event: TransferEvent, path: (TransferredFile) throws -> String) rethrows {
    (number, url, group, new) = (event.index, event.url, event.group, event.isNew)
    switch event.end {
    case .done(let file):
      (state, bytes, sha256) = ("done", file.bytes, file.sha256)
      self.path = try path(file)
    case .failed(let failure): (state, code, error) = ("failed", failure.code.rawValue, failure.text)
    case .cancelled: (state, code, error) = ("cancelled", "cancelled", "The transfer was cancelled.")
    }
  }

  static func json(_ notices: [TransferNotice]) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(notices)) + [UInt8(ascii: "\n")]
  }
}

extension LaunchFolder {
  /// Writes the file that `BATON_TRANSFERS` names.
  /// - Parameter links: whether the command cannot see the worker's own folders, so that it gets links in this one. The
  ///   files and the launches of a host are on one file system.
  func write(_ events: [TransferEvent], links: Bool, below data: String) throws {
    let notices = try events.map { event in
      try TransferNotice(event) { file in
        guard links, file.path.hasPrefix(data + "/") else { return file.path }
        let name = file.path.split(separator: "/").last.map(String.init) ?? "file"
        return try link(file.path, as: "transfer-\(event.index)-\(name)")
      }
    }
    try writeTransfers(try TransferNotice.json(notices))
  }
}
