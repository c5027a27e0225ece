/// An event that libyaml produces while it parses a source.
enum Event {
  case streamStart
  case streamEnd
  case documentStart
  case documentEnd
  case alias(String)
  case scalar(Scalar, Properties)
  case sequenceStart(Properties)
  case sequenceEnd
  case mappingStart(Properties)
  case mappingEnd

  /// The anchor and the tag that may stand before a value.
  struct Properties {
    var anchor: String?
    var tag: String?
  }
}

/// A value that is neither a list nor a mapping.
struct Scalar {
  var text: String
  /// Whether the value was written without quotes and not as a block, so that YAML may take it for something other
  /// than text.
  var isPlain: Bool
  /// `nil` unless the value was written as a block.
  var block: BlockStyle?

  enum BlockStyle {
    /// `|`: the text has the same lines as the file.
    case literal
    /// `>`: line breaks of the file become spaces.
    case folded
  }
}

/// Why libyaml, or the composer, stopped reading.
struct SyntaxError: Error {
  var problem: String
  /// What libyaml was parsing, such as "while parsing a block mapping"; it began at `contextPosition`.
  var context: String?
  var contextPosition: Position?
  var position: Position
  /// Whether one of Baton's own limits stopped the reading; `problem` is then Baton's own message.
  var isLimit = false
}
