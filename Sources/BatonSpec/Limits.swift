/// Bounds on the text of a specification, so that a hostile file costs no more than a short look at it.
/// `Definition.Limits` bounds the values of a definition.
package enum Limits {
  /// The largest size of a source in bytes: 10 MiB.
  package static let sourceBytes = 10 << 20
  /// The most nodes in one document. Each use of an alias counts as the nodes for which it stands.
  package static let nodesPerDocument = 10_000
  /// The deepest nesting in one document, with aliases expanded.
  package static let depth = 64
  /// The most text in one document in bytes of UTF-8, keys and values together, with aliases expanded: 64 KiB.
  package static let textBytesPerDocument = 64 << 10
  /// The most problems of each severity that are reported for one source. Reading stops when a source has so
  /// many errors.
  package static let problemsPerSource = 1_000
  /// The most `%TAG` directives of a source. A job file needs none.
  static let tagDirectives = 16
  /// The longest line, in bytes, of which an excerpt is shown below a problem.
  static let shownLineBytes = 16 << 10
}
