import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The result of reading one source: its definitions, its declarations and its problems.
struct SourceReading {
  private(set) var definitions: [LocatedDefinition] = []
  /// Every identifier that could be read, even if its definition has errors elsewhere.
  private(set) var declared: [Declaration] = []
  var report: Report

  init(_ source: Source, options: SpecificationOptions) {
    do throws(TextError) {
      let text = try SourceText(source)
      report = Report(file: source.name, text: text)
      read(text, of: source, options: options)
    } catch {
      report = Report(file: source.name, text: nil)
      report.error(error.message, at: error.position)
    }
  }

  private mutating func read(_ text: SourceText, of source: Source, options: SpecificationOptions) {
    var documents = DocumentReader(text)
    while !report.isFull, declared.count <= options.mostDefinitions, let document = documents.next(&report) {
      decode(document, of: source, options: options)
    }
    if !documents.foundContent {
      report.error("the file is empty: it declares no job; a job starts with 'identifier:' and 'kind:'", at: .start)
    }
  }

  private mutating func decode(_ document: Document, of source: Source, options: SpecificationOptions) {
    let context = DecodingContext(options: options, folder: source.folder)
    var decoder = DefinitionDecoder(report: report, context: context)
    let decoded = decoder.decode(document.root)
    report = decoder.report
    guard let declaration = decoded.declaration else { return }
    declared.append(declaration)
    guard let definition = decoded.definition, !document.hasErrors else { return }
    do throws(DefinitionProblem) {
      // The coordinator checks the same rules, so that it accepts what is accepted here.
      try definition.validate()
      guard isSmall(document.root) || fits(definition) else { throw .tooLarge }
    } catch {
      report.error(error.description, at: declaration.position)
      return
    }
    definitions.append(LocatedDefinition(definition: definition, file: source.name, position: declaration.position))
  }

  /// Whether the definition is so small that its encoding cannot come near the limit: that has at most 6 bytes for each
  /// byte of text, 20 for each value, and 10 KiB for the rest. This saves most definitions an encoding.
  private func isSmall(_ root: Node) -> Bool { root.textBytes <= 4 << 10 && root.nodeCount <= 500 }

  /// Whether the encoded definition is within the limit. It can be larger than its text, because of quotes, commas
  /// and escapes.
  private func fits(_ definition: Definition) -> Bool {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return ((try? encoder.encode(definition))?.count ?? .max) <= Definition.Limits.bytes
  }
}
