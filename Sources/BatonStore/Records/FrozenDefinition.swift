internal import BatonModel
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A definition as some requests froze it. A class, so that handing it around on the hot path copies one reference.
final class FrozenDefinition: Sendable {
  let id: DefinitionID
  let pattern: Int64
  let definition: Definition

  init(id: DefinitionID, pattern: Int64, definition: Definition) {
    self.id = id
    self.pattern = pattern
    self.definition = definition
  }
}

extension Definition {
  /// Equal for equal definitions, whatever the order of a dictionary: what makes two of them one row.
  func canonicalJSON() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  init(canonicalJSON: String) throws {
    do {
      self = try JSONDecoder().decode(Definition.self, from: Data(canonicalJSON.utf8))
    } catch {
      throw StoreError(.corrupt, "A definition in the database cannot be read: \(error)")
    }
  }
}

/// Definitions by number, decoded once. Rows of `definition` never change, so what is here is never stale; a rolled
/// back transaction empties it, because a number that it gave may be given again.
final class DefinitionCache: Sendable {
  private let entries = Mutex<[Int64: FrozenDefinition]>([:])
  private static let capacity = 10_000

  subscript(id: Int64) -> FrozenDefinition? { entries.withLock { $0[id] } }

  func insert(_ frozen: FrozenDefinition) {
    entries.withLock { entries in
      if entries.count >= Self.capacity { entries.removeAll() }
      entries[frozen.id.rawValue] = frozen
    }
  }

  func removeAll() { entries.withLock { $0.removeAll() } }
}
