// Only this file uses libyaml, in the copy that comes with Yams. The composer of Yams is not used, for three
// reasons: it recurses as deep as the text nests; it hashes complex keys with their aliases expanded, which never
// ends for a file that was made for that purpose; and it forgets where an alias was used. Reading events has none of
// these problems.
internal import CYaml

/// The events of a source, from a given line to the end of the source.
///
/// It is not `Sendable`, because one reader owns it.
final class EventStream {
  // libyaml keeps the addresses of both, so neither may lie in memory that Swift is free to move.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let input: UnsafeMutableBufferPointer<UInt8>
  private let firstLine: Int

  /// - Parameter firstLine: the line at which reading starts, from 1. Positions are counted from the start of the
  ///   source nevertheless.
  init(_ text: SourceText, from firstLine: Int) {
    self.firstLine = firstLine
    let bytes = text.bytes[text.lineStarts[firstLine - 1]...]
    input = .allocate(capacity: bytes.count)
    _ = input.initialize(from: bytes)
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    guard yaml_parser_initialize(parser) == 1 else { preconditionFailure("no memory for a YAML parser") }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, input.baseAddress, input.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
    input.deallocate()
  }

  /// The next event and its start.
  func next() throws(SyntaxError) -> (Event, Position) {
    var raw = yaml_event_t()
    guard yaml_parser_parse(parser, &raw) == 1 else { throw syntaxError }
    defer { yaml_event_delete(&raw) }
    return (Event(raw), position(raw.start_mark))
  }

  private var syntaxError: SyntaxError {
    let state = parser.pointee
    let context = state.context.map { String(cString: $0) }
    return SyntaxError(
      problem: state.problem.map { String(cString: $0) } ?? "not readable as YAML",
      context: context, contextPosition: context == nil ? nil : position(state.context_mark),
      position: position(state.problem_mark))
  }

  private func position(_ mark: yaml_mark_t) -> Position {
    Position(line: Int(mark.line) + firstLine, column: Int(mark.column) + 1)
  }
}

extension Event {
  fileprivate init(_ raw: yaml_event_t) {
    switch raw.type {
    case YAML_STREAM_START_EVENT: self = .streamStart
    case YAML_STREAM_END_EVENT: self = .streamEnd
    case YAML_DOCUMENT_START_EVENT: self = .documentStart
    case YAML_DOCUMENT_END_EVENT: self = .documentEnd
    case YAML_ALIAS_EVENT: self = .alias(string(raw.data.alias.anchor) ?? "")
    case YAML_SCALAR_EVENT: self = .scalar(Scalar(raw), Properties(raw.data.scalar.anchor, raw.data.scalar.tag))
    case YAML_SEQUENCE_START_EVENT:
      self = .sequenceStart(Properties(raw.data.sequence_start.anchor, raw.data.sequence_start.tag))
    case YAML_SEQUENCE_END_EVENT: self = .sequenceEnd
    case YAML_MAPPING_START_EVENT:
      self = .mappingStart(Properties(raw.data.mapping_start.anchor, raw.data.mapping_start.tag))
    case YAML_MAPPING_END_EVENT: self = .mappingEnd
    default: preconditionFailure("libyaml produced an event of type \(raw.type.rawValue)")
    }
  }
}

extension Event.Properties {
  fileprivate init(_ anchor: UnsafeMutablePointer<UInt8>?, _ tag: UnsafeMutablePointer<UInt8>?) {
    self.init(anchor: string(anchor), tag: string(tag))
  }
}

extension Scalar {
  fileprivate init(_ raw: yaml_event_t) {
    let scalar = raw.data.scalar
    // The text is read by its length, because a scalar may contain NUL ("\0").
    text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
    isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
    block =
      switch scalar.style {
      case YAML_LITERAL_SCALAR_STYLE: .literal
      case YAML_FOLDED_SCALAR_STYLE: .folded
      default: nil
      }
  }
}

private func string(_ pointer: UnsafeMutablePointer<UInt8>?) -> String? {
  pointer.map { String(cString: $0) }
}
