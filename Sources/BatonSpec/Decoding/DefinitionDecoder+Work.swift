import BatonModel

extension DefinitionDecoder {
  /// - Parameter pattern: nil if the identifier could not be read; then `${wildcard}` is taken as it is.
  mutating func work(_ field: Field?, pattern: IdentifierPattern?) -> Work? {
    guard let field, let fields = mapping(field, .work, example: "{command: [./resize.sh]}") else { return nil }
    let items = items(fields["items"])
    requireItems(fields)
    var work = Work(command: command(fields, field, pattern), directory: directory(fields["directory"]), items: items)
    if let batchSize = integer(fields["batchSize"], in: Limits.batchSize) { work.batchSize = batchSize }
    if let pass = fields["pass"].flatMap({ choice($0, ItemPassing.self) }) { work.pass = pass }
    if let onExpiry = fields["onExpiry"].flatMap({ choice($0, ExpiryBehaviour.self) }) { work.onExpiry = onExpiry }
    work.terminateBefore = parsed(fields["terminateBefore"], DurationText.examples, DurationText.parse)
    work.environment = environment(fields["environment"])
    checkLineBreaks(in: fields["items"], passedBy: work.pass)
    if work.directory == nil { warnAboutEmptyFolder(work, fields) }
    return work
  }

  private mutating func requireItems(_ fields: Fields) {
    guard fields["items"] == nil else { return }
    for field in [fields["batchSize"], fields["pass"]].compactMap(\.self) {
      report.error(
        "\(field.label) needs 'work.items': without items there is one batch and nothing to pass", at: field.keyPosition
      )
    }
  }

  private mutating func command(_ fields: Fields, _ work: Field, _ pattern: IdentifierPattern?) -> [String] {
    guard let field = fields["command"] else {
      report.error("key 'work.command' is missing; write command: [PROGRAM, ARGUMENT, …]", at: work.keyPosition)
      return []
    }
    guard let nodes = list(field, "a list such as [./resize.sh, \"--size\", \"800\"]", hint: ": no shell splits it")
    else { return [] }
    let arguments = nodes.map { argument($0, of: field, pattern) }
    if nodes.isEmpty || arguments.first == "" {
      let position = nodes.first?.position ?? field.value.position
      report.error("\(field.label) must start with the program to run", at: position)
    }
    return arguments.compactMap(\.self)
  }

  private mutating func argument(_ node: Node, of field: Field, _ pattern: IdentifierPattern?) -> String? {
    guard let text = literal(node, label: "a value of \(field.label)") else { return nil }
    if let message = CommandText.mistake(in: text, isWildcard: pattern?.isWildcard ?? true) {
      report.error(message, at: node.position)
    }
    return text
  }

  /// The absolute path if the YAML's folder is known and anything was said.
  private mutating func directory(_ field: Field?) -> String? {
    guard let field else { return context.options.defaultDirectory == .folderOfFile ? context.folder : nil }
    guard let text = path(field) else { return nil }
    if text == "~" || text.hasPrefix("~/") {
      report.error(
        "\(field.label) cannot start with '~': no shell expands it; write the whole path", at: field.value.position)
    }
    if text.hasPrefix("/") { return text }
    guard let folder = context.folder else {
      report.error(
        "\(field.label) must be an absolute path: there is no file that it could be relative to",
        at: field.value.position)
      return nil
    }
    return joined(folder, text)
  }

  private func joined(_ folder: String, _ path: String) -> String {
    // Only "." is folded: ".." may cross a symbolic link, which the host has to follow.
    let parts = path.split(separator: "/").filter { $0 != "." }
    return ([folder == "/" ? "" : folder] + parts.map(String.init)).joined(separator: "/")
  }

  private mutating func environment(_ field: Field?) -> [String: String] {
    guard let field else { return [:] }
    guard case .mapping(let entries) = field.value.content else {
      refuse(field, "a mapping such as {QUALITY: \"85\"}")
      return [:]
    }
    var environment: [String: String] = [:]
    for entry in entries {
      if let message = CommandText.mistake(inVariable: entry.key) { report.error(message, at: entry.keyPosition) }
      let label = "'work.environment.\(quoted(entry.key).dropFirst())"
      if let value = literal(entry.value, label: label) {
        refuseWildcard(in: value, label: label, at: entry.value.position)
        environment[entry.key] = value
      }
    }
    return environment
  }

  /// A relative name finds nothing in a folder that is empty at each launch.
  private mutating func warnAboutEmptyFolder(_ work: Work, _ fields: Fields) {
    guard context.options.defaultDirectory == .perLaunch, fields["directory"] == nil else { return }
    if let program = work.command.first, program.contains("/"), !program.hasPrefix("/"), let field = fields["command"] {
      warnAboutEmptyFolder(program, at: field)
    }
    switch work.items {
    case .glob(let path), .lines(let path):
      if !path.hasPrefix("/"), let field = fields["items"] { warnAboutEmptyFolder(path, at: field) }
    case .list, .range, nil: break
    }
  }

  private mutating func warnAboutEmptyFolder(_ path: String, at field: Field) {
    report.warning(
      "\(quoted(path)) is relative, and without 'work.directory' each launch applied to a coordinator starts in an empty folder; "
        + "set the directory or write the whole path", at: field.keyPosition)
  }
}
