/// A step of libyaml through a source.
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

  /// What may stand before a value.
  struct Properties {
    var anchor: String?
    var tag: String?
  }
}

/// A value without parts.
struct Scalar {
  var text: String
  /// Written without quotes and not as a block, so that YAML may take it for something other than text.
  var isPlain: Bool
  /// Nil unless it was written as a block.
  var block: BlockStyle?

  enum BlockStyle {
    /// `|`: its lines are those of the file.
    case literal
    /// `>`
    case folded
  }
}

/// Why libyaml cannot go on.
struct SyntaxError: Error {
  var problem: String
  /// What libyaml was doing, such as "while parsing a block mapping", and since where.
  var context: String?
  var contextPosition: Position?
  var position: Position
  /// True if a limit of ours stopped the reading; the problem is then said in our own words.
  var isLimit = false
}
