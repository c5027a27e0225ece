/// The bounds of a specification's text. They keep a hostile file from costing more than a look at it. What a definition
/// itself may say is bounded by `Definition.Limits`.
package enum Limits {
  /// Largest source, in bytes: 10 MiB.
  package static let sourceBytes = 10 << 20
  /// Most nodes of one document, each use of an alias counted as the nodes it stands for.
  package static let nodesPerDocument = 10_000
  /// Deepest nesting of one document, aliases included.
  package static let depth = 64
  /// Most text of one document (keys and values, aliases included), in bytes of UTF-8: 64 KiB.
  package static let textBytesPerDocument = 64 << 10
  /// Errors told per source, and warnings; reading stops at so many errors.
  package static let problemsPerSource = 1_000
}
