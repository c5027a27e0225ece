internal import BatonModel

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension HostWord {
  func canonicalJSON() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// `nil` if another version wrote the JSON and this version cannot read it. The host reports its conditions again
  /// when it connects.
  init?(canonicalJSON: String) {
    do { self = try JSONDecoder().decode(HostWord.self, from: Data(canonicalJSON.utf8)) } catch { return nil }
  }
}
