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
  /// Keeps every rule: where the stored definition does not, this is a stand-in of the same pattern that has no work, is
  /// never tried again, and has the defaults for the rest.
  let definition: Definition
  /// Why the stored definition is set aside; nil if it is `definition`.
  let problem: DefinitionProblem?

  /// - Parameters:
  ///   - content: the row's JSON. An older version may have stored what this one does not take.
  ///   - name: of the row's pattern.
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
      definition = standIn
      problem = error
    }
  }
}

extension Definition {
  /// Equal for equal definitions, whatever the order of a dictionary: what makes two of them one row.
  func canonicalJSON() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// - Throws: why this version does not take what is stored.
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
