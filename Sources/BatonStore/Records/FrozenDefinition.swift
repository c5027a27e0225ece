internal import BatonModel
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A stored definition, as the requests that were submitted under it keep it. It is a class, so that passing it around
/// on the hot path copies only a reference.
final class FrozenDefinition: Sendable {
  let id: DefinitionID
  let pattern: Int64
  /// A valid definition. If the stored definition breaks a rule of this version, this is a stand-in with the same
  /// pattern and the same limits by key, without work and retries, and with defaults for everything else.
  let definition: Definition
  /// Why the stored definition was replaced by a stand-in; `nil` if `definition` is the stored definition.
  let problem: DefinitionProblem?

  /// Decodes a stored definition, and uses a stand-in if it is not valid.
  /// - Parameters:
  ///   - content: the JSON of the row. An older version may have stored JSON that this version does not accept.
  ///   - name: the name of the row's pattern.
  init(id: DefinitionID, pattern: Int64, content: String, name: String) {
    self.id = id
    self.pattern = pattern
    do throws(DefinitionProblem) {
      definition = try Definition(canonicalJSON: content)
      problem = nil
    } catch {
      var standIn = Definition(
        pattern: IdentifierPattern(name) ?? IdentifierPattern(trusted: "unreadable"), kind: .processing)
      standIn.retry.limit = 0
      // Launches that run hold their places at these keys until they end.
      let limits = try? JSONDecoder().decode(KeyLimits.self, from: Data(content.utf8))
      (standIn.concurrency, standIn.rate) = (limits?.concurrency, limits?.rate)
      definition = standIn
      problem = error
    }
  }
}

/// The limits by key of a stored definition. They can be read although another part of the definition is wrong.
private struct KeyLimits: Decodable {
  var concurrency: ConcurrencyLimit?
  var rate: RateLimitByKey?
}

extension Definition {
  /// The definition as JSON with sorted keys. Equal definitions have equal JSON whatever the order of their
  /// dictionaries, so each is stored as one row.
  func canonicalJSON() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// Decodes and validates stored JSON.
  /// - Throws: `DefinitionProblem` if this version does not accept the stored definition.
  init(canonicalJSON: String) throws(DefinitionProblem) {
    guard canonicalJSON.utf8.count <= Limits.bytes else { throw .tooLarge }
    do {
      self = try JSONDecoder().decode(Definition.self, from: Data(canonicalJSON.utf8))
    } catch let error as DecodingError {
      throw DefinitionProblem(error)
    } catch {
      throw DefinitionProblem("", "cannot be read")
    }
    try validate()
  }
}

/// Caches decoded definitions by their number. Rows of `definition` never change, so an entry is never out of date.
/// After a rollback the cache has to be emptied, because the numbers of rows that were rolled back are given again.
///
/// The cache holds at most 10,000 definitions; it is emptied when it is full.
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
