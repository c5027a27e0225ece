/// A value of a document with its place. Its size is bounded by the composer, aliases included, so walking it is safe.
struct Node {
  var position: Position
  var content: Content
  /// Nodes in it, itself included and aliases expanded.
  var nodeCount = 1
  /// Bytes of text in it.
  var textBytes = 0
  /// Levels below it.
  var height = 0

  enum Content {
    case scalar(Scalar)
    case sequence([Node])
    case mapping([Entry])
    /// Something that was reported already; readers pass over it in silence.
    case refused
  }

  struct Entry {
    var key: String
    var keyPosition: Position
    var value: Node
  }

  /// "a list", "a mapping" or the text in quotes, for messages.
  var summary: String {
    switch content {
    case .scalar(let scalar) where scalar.isPlain && scalar.text.isEmpty: "nothing"
    case .scalar(let scalar): quoted(scalar.text)
    case .sequence: "a list"
    case .mapping: "a mapping"
    case .refused: "something else"
    }
  }

  /// Nil unless it is a block scalar, `|` or `>`.
  var blockStyle: Scalar.BlockStyle? { if case .scalar(let scalar) = content { scalar.block } else { nil } }
  var isBlock: Bool { blockStyle != nil }

  var isRefused: Bool { if case .refused = content { true } else { false } }

  /// An empty plain scalar: nothing but comments, or a key without a value.
  var isNothing: Bool {
    if case .scalar(let scalar) = content { scalar.isPlain && scalar.text.isEmpty } else { false }
  }
}

/// One document of a source.
struct Document {
  var root: Node
  /// True if an error was found while it was composed; its definition then does not count.
  var hasErrors: Bool
}
