import BatonModel

extension DefinitionDecoder {
  /// - Parameter pattern: `nil` if the identifier could not be read; then `${wildcard}` is accepted.
  mutating func work(_ field: Field?, pattern: IdentifierPattern?) -> Work? {
    guard let field, let fields = mapping(field, .work, example: "{command: [./resize.sh]}") else { return nil }
    if isForHandler(fields) { return nil }
    let items = items(fields["items"])
    requireItems(fields)
    var work = Work(command: command(fields, field, pattern), directory: directory(fields["directory"]), items: items)
    if let batchSize = integer(fields["batchSize"], in: Definition.Limits.batchSize) { work.batchSize = batchSize }
    if let pass = fields["pass"].flatMap({ choice($0, ItemPassing.self) }) { work.pass = pass }
    if let onExpiry = fields["onExpiry"].flatMap({ choice($0, ExpiryBehaviour.self) }) { work.onExpiry = onExpiry }
    work.terminateBefore = parsed(fields["terminateBefore"], DurationText.examples, DurationText.parse)
    work.failureOutput = fields["failureOutput"].flatMap { choice($0, FailureOutput.self) }
    work.sandbox = fields["sandbox"].flatMap { choice($0, SandboxLevel.self) }
    work.user = user(fields["user"], items: work.items)
    work.environment = environment(fields["environment"])
    work.secrets = secrets(fields["secrets"], environment: fields["environment"])
    warnAboutLiteralSecrets(fields["environment"])
    checkLineBreaks(in: fields["items"], passedBy: work.pass)
    if work.directory == nil { warnAboutEmptyFolder(work, fields) }
    warnAboutMissingFiles(work, fields)
    warnAboutFilesBeside(work, fields)
    return work
  }

  /// Whether the mapping only divides the work of a Swift handler, or has its transfers. Every other key needs a
  /// command.
  private mutating func isForHandler(_ fields: Fields) -> Bool {
    let what = ["shards", "transfers", "transfer"].first { fields[$0] != nil }
    guard fields["command"] == nil, let what else { return false }
    let keys = ["spread", "shards", "onShardFailure", "transfer", "transfers"]
    for (key, field) in fields.inOrder where !keys.contains(key) {
      report.error(
        "\(field.label) needs 'work.command': without a command the \(what == "shards" ? what : "transfers") are for a "
          + "Swift handler", at: field.keyPosition)
    }
    return true
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
    let isWildcard = pattern?.isWildcard ?? true
    // Each line of a block scalar is checked by itself, so that a mistake is reported on its own line.
    let lines = node.isBlock ? text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) : [text]
    for (index, line) in lines.enumerated() {
      guard let mistake = CommandText.mistake(in: line, isWildcard: isWildcard) else { continue }
      report.error(mistake.advice, at: place(of: mistake.culprit, inLine: index, of: node))
    }
    return text
  }

  /// The place of a part of a block scalar in the file; the place of the block itself if the part is not found.
  private func place(of culprit: String?, inLine index: Int, of node: Node) -> Position {
    guard let culprit, let style = node.blockStyle else { return node.position }
    // The text of a folded block has other lines than the file.
    let first = node.position.line + 1 + (style == .literal ? index : 0)
    return report.position(of: culprit, fromLine: first) ?? node.position
  }

  /// The user as which the command runs. A number would be another user on each host.
  private mutating func user(_ field: Field?, items: Items?) -> String? {
    guard let field, let name = literal(field.value, label: field.label) else { return nil }
    guard UserName.isName(name) else {
      report.error(
        "\(field.label) must be the name of a user, such as batonjob: \(UserName.rule)", at: field.value.position)
      return nil
    }
    switch items {
    case .lines, .glob:
      report.error(
        "\(field.label) cannot be combined with items.lines or items.glob, which the worker reads as root: write the "
          + "items as a list or a range, or read the files in the command", at: field.keyPosition)
    case .list, .range, nil: break
    }
    return name
  }

  /// The absolute path of the command's directory. Without the key it depends on the options: the folder of the YAML
  /// file, or `nil`, which means an empty folder for each launch.
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

  func joined(_ folder: String, _ path: String) -> String {
    // Only "." is removed: ".." may cross a symbolic link, which only the host can follow.
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
      if let message = EnvironmentName.mistake(in: entry.key) { report.error(message, at: entry.keyPosition) }
      let label = "'work.environment.\(quoted(entry.key).dropFirst())"
      if let value = literal(entry.value, label: label) {
        refuseWildcard(in: value, label: label, at: entry.value.position)
        environment[entry.key] = value
      }
    }
    return environment
  }

  /// Warns about relative paths if each launch starts in an empty folder, because nothing is found there.
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
      "\(quoted(path)) is relative, and without 'work.directory' each launch of a coordinator starts in an empty "
        + "folder; set the directory or write an absolute path", at: field.keyPosition)
  }

  /// Warns if the directory or the program of the job does not exist on this machine, if the options ask for
  /// that check.
  private mutating func warnAboutMissingFiles(_ work: Work, _ fields: Fields) {
    guard let exists = context.options.exists else { return }
    if let directory = work.directory, let field = fields["directory"], !exists(directory) {
      report.warning(
        "there is no folder \(quoted(directory)) on this machine; each host that runs the job needs it",
        at: field.value.position)
      return
    }
    guard let program = work.command.first, program.contains("/"), !program.contains("${"),
      let field = fields["command"]
    else { return }
    let folder = work.directory ?? context.folder
    guard let path = program.hasPrefix("/") ? program : folder.map({ joined($0, program) }), !exists(path) else {
      return
    }
    report.warning(
      "there is no program \(quoted(path)) on this machine; each host that runs the job needs it", at: field.keyPosition
    )
  }

  /// Removes the default budget from a command without items, unless the file sets one, and notes how the command runs.
  /// A command in one piece shows no progress, and after a stop it would begin again from the beginning; with the
  /// default budget a long one would never end.
  mutating func leaveUnbounded(_ definition: inout Definition, _ fields: Fields) {
    if fields["budget"] == nil { definition.budget = nil }
    // If `work.items` is there but could not be read, that has been reported already, and the note would be wrong.
    guard let work = fields["work"], entry("items", of: work) == nil else { return }
    let limits = ["budget", "stallAfter"].filter { fields[$0] != nil }.map { "'\($0)'" }
    let bounds =
      limits.isEmpty
      ? "It has no time limit; 'budget' and 'stallAfter' set one"
      : "A launch that \(limits.joined(separator: " or ")) ends counts as an interruption"
    report.note(
      "'work' has no items, so the command runs in one piece. If a launch is interrupted, for example by a job of "
        + "higher priority, the command starts again from the beginning, unless it keeps a cursor (see "
        + "Documentation/reference/commands.md). \(bounds)", at: work.keyPosition)
  }
}
