/// A value of a document, with its place. `Composer` bounds its size with aliases expanded, so that code may walk it
/// without a limit of its own.
struct Node {
  var position: Position
  var content: Content
  /// The number of nodes in this value, with the value itself and with aliases expanded.
  var nodeCount = 1
  /// The bytes of text in this value, with aliases expanded.
  var textBytes = 0
  /// The number of levels below this value.
  var height = 0

  enum Content {
    case scalar(Scalar)
    case sequence([Node])
    case mapping([Entry])
    /// A value that was reported as wrong already. The decoder skips it without another report.
    case refused
  }

  struct Entry {
    var key: String
    var keyPosition: Position
    var value: Node
  }

  /// The value as messages name it: "a list", "a mapping", or the text in quotes.
  var summary: String {
    switch content {
    case .scalar(let scalar) where scalar.isPlain && scalar.text.isEmpty: "nothing"
    case .scalar(let scalar): quoted(scalar.text)
    case .sequence: "a list"
    case .mapping: "a mapping"
    case .refused: "something else"
    }
  }

  /// The style of a block scalar, `|` or `>`; `nil` for other values.
  var blockStyle: Scalar.BlockStyle? { if case .scalar(let scalar) = content { scalar.block } else { nil } }
  var isBlock: Bool { blockStyle != nil }

  var isRefused: Bool { if case .refused = content { true } else { false } }

  /// Whether the value is an empty plain scalar: a document of comments only, or a key without a value.
  var isNothing: Bool {
    if case .scalar(let scalar) = content { scalar.isPlain && scalar.text.isEmpty } else { false }
  }
}

/// One document of a source.
struct Document {
  var root: Node
  /// Whether an error was found while the document was composed; then its definition is not used.
  var hasErrors: Bool
}
