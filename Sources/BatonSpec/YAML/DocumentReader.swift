/// Reads the documents of a source one after the other. A document that cannot be read is reported and left out.
/// Reading goes on at the next `---`, so that one mistake does not hide what is wrong elsewhere.
struct DocumentReader {
  private let text: SourceText
  private var stream: EventStream?
  /// The line on which the current document starts. After an error, reading goes on only after this line, so that it
  /// always comes to an end.
  private var documentLine = 1
  /// Whether anything other than comments was found.
  private(set) var foundContent = false

  init(_ text: SourceText) {
    self.text = text
    stream = EventStream(text, from: 1)
  }

  /// The next document that could be read; `nil` at the end.
  mutating func next(_ report: inout Report) -> Document? {
    while !report.isFull, let stream {
      do throws(SyntaxError) {
        if let document = try nextDocument(of: stream, &report) {
          if document.root.isNothing { continue }
          foundContent = true
          return document
        }
        self.stream = nil
      } catch {
        foundContent = true
        let advice = error.advice(in: text)
        report.error(advice.message, at: advice.position)
        startAnew()
      }
    }
    return nil
  }

  private mutating func nextDocument(
    of stream: EventStream, _ report: inout Report
  ) throws(SyntaxError) -> Document? {
    while true {
      let (event, position) = try stream.next()
      switch event {
      case .streamEnd: return nil
      case .documentStart:
        documentLine = position.line
        return try compose(from: stream, &report)
      default: continue
      }
    }
  }

  private func compose(from stream: EventStream, _ report: inout Report) throws(SyntaxError) -> Document {
    var composer = Composer(stream, report: report)
    let errorsBefore = report.errorCount
    // The problems that were found before a syntax error are kept.
    defer { report = composer.report }
    let root = try composer.document()
    return Document(root: root, hasErrors: composer.report.errorCount > errorsBefore)
  }

  private mutating func startAnew() {
    guard let line = text.documentStart(after: documentLine) else {
      stream = nil
      return
    }
    documentLine = line
    stream = EventStream(text, from: line)
  }
}
