/// One YAML text, and its name in messages.
package struct Source: Sendable {
  /// The name as the user wrote it, such as `jobs/export.yaml`.
  package var name: String
  /// The absolute path of the folder to which relative directories are relative; `nil` if the text did not come from
  /// a file.
  package var folder: String?
  package var bytes: [UInt8]

  package init(name: String, folder: String? = nil, bytes: [UInt8]) {
    self.name = name
    self.folder = folder
    self.bytes = bytes
  }

  package init(name: String, folder: String? = nil, text: String) {
    self.init(name: name, folder: folder, bytes: Array(text.utf8))
  }
}

/// The text of a source after it was found to be valid UTF-8, with the starts of its lines.
struct SourceText {
  /// Valid UTF-8 without a byte order mark and without characters that YAML forbids.
  let bytes: [UInt8]
  /// The offset of the first byte of each line.
  let lineStarts: [Int]

  init(_ source: Source) throws(TextError) {
    guard source.bytes.count <= Limits.sourceBytes else { throw TextError(message: Self.tooLarge) }
    bytes = try Self.checked(source.bytes)
    lineStarts = Self.lineStarts(of: bytes)
    // libyaml compares each of these directives with all before it.
    let tags = lineStarts.indices.filter { bytes[lineStarts[$0]...].starts(with: Self.tagDirective) }
    guard tags.count <= Limits.tagDirectives else {
      throw TextError(
        position: Position(line: tags[Limits.tagDirectives] + 1, column: 1),
        message: "the file has more than \(Limits.tagDirectives) lines with %TAG; a job file needs none")
    }
  }

  private static let tagDirective = Array("%TAG".utf8)

  static let tooLarge = "the file is larger than 10 MiB; split it, or put long lists of items in a file of their own"

  /// The line with this number, from 1, without its line break; `nil` after the last line.
  func line(_ number: Int) -> String? {
    guard let range = range(ofLine: number) else { return nil }
    let line = String(decoding: bytes[range], as: UTF8.self)
    return String(line.unicodeScalars.prefix { !Self.isLineBreak($0) })
  }

  /// Where the line with this number is, from 1, with its line break; `nil` after the last line.
  func range(ofLine number: Int) -> Range<Int>? {
    guard lineStarts.indices.contains(number - 1) else { return nil }
    return lineStarts[number - 1]..<(number < lineStarts.count ? lineStarts[number] : bytes.count)
  }

  /// The number of the first line after line `number` on which a document starts (`---`); `nil` if there is no
  /// such line.
  func documentStart(after number: Int) -> Int? {
    lineStarts.indices.dropFirst(number).first(where: isDocumentStart).map { $0 + 1 }
  }

  private func isDocumentStart(_ index: Int) -> Bool {
    let line = bytes[lineStarts[index]...].prefix(4)
    guard line.starts(with: Array("---".utf8)) else { return false }
    return line.count == 3 || [0x20, 0x09, 0x0A, 0x0D].contains(line[line.startIndex + 3])
  }

  private static func isLineBreak(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x0A, 0x0D, 0x85, 0x2028, 0x2029: true
    default: false
    }
  }
}

/// Why a source cannot be YAML text.
struct TextError: Error {
  var position = Position.start
  var message: String
}
