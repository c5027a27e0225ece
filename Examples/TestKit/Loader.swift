import BatonHandler
import Foundation
import Synchronization

/// Loads the tables that were fetched for it. With the first ones it asks for one more, and is launched again when that
/// has arrived.
func loader(_ database: any TableDatabase) -> Handler {
  { task in
    for event in task.transfers.events {
      switch event.result {
      case .success(let file):
        try await database.load(event.url, String(contentsOf: URL(filePath: file.path), encoding: .utf8))
      case .failure(let failure): try await database.note(event.url, isMissing: failure.code)
      }
    }
    if try task.lastCheckpoint(as: String.self) == nil {
      try task.transfers.add("https://example.com/details.csv", to: "details.csv", group: "details")
      try await task.checkpoint("asked for the details")
    }
  }
}

protocol TableDatabase: Sendable {
  func load(_ table: String, _ text: String) async throws
  func note(_ table: String, isMissing reason: String) async throws
}

final class FakeTables: TableDatabase {
  private let state = Mutex<[String: String]>([:])

  /// The text of each table, or why it is missing.
  var tables: [String: String] { state.withLock { $0 } }

  func load(_ table: String, _ text: String) async { state.withLock { $0[table] = text } }
  func note(_ table: String, isMissing reason: String) async { state.withLock { $0[table] = reason } }
}
