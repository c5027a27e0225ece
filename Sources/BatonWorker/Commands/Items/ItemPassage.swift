import BatonModel

/// Passes the items of one batch to the command.
struct ItemPassage: Sendable {
  let items: [String]
  let launch: CommandLaunch

  init(_ items: [String], launch: CommandLaunch) {
    self.items = items
    self.launch = launch
  }

  /// The input of the command for these items. Writes the items to a file if the definition says so.
  /// - Throws: `CommandError` with the code `.badItems` for an item that cannot be passed this way.
  func invocation() throws -> Invocation {
    for item in items { try ItemText.check(item, passedAs: launch.work.pass) }
    switch launch.work.pass {
    case .arguments:
      return Invocation(arguments: launch.command + items)
    case .stdin:
      try writeFile()
      // Standard input is the file itself, not a pipe. A command that does not read all of it neither blocks the worker
      // nor breaks a pipe.
      return Invocation(arguments: launch.command, standardInput: launch.folder.itemsFile)
    case .file:
      try writeFile()
      let file = launch.folder.itemsFile
      return Invocation(arguments: launch.command + [file], environment: ["BATON_ITEMS_FILE": file])
    }
  }

  private func writeFile() throws {
    var bytes: [UInt8] = []
    for item in items {
      bytes += item.utf8
      bytes.append(UInt8(ascii: "\n"))
    }
    try launch.folder.writeItems(bytes)
  }
}

/// The rules for an item's text.
enum ItemText {
  /// The longest item in bytes: Linux's limit for one argument (MAX_ARG_STRLEN) without its final zero byte.
  static let maximumBytes = (128 << 10) - 1

  /// - Throws: `CommandError` with the code `.badItems`. The message names the item and says what to do.
  static func check(_ item: String, passedAs pass: ItemPassing) throws {
    if pass != .arguments && item.utf8.contains(UInt8(ascii: "\n")) {
      throw CommandError(
        .badItems,
        "the item \(item.debugDescription) has a line break in it and cannot be passed one per line: "
          + "set 'pass: arguments', or rename the item")
    }
    if item.utf8.contains(0) {
      throw CommandError(
        .badItems, "the item \(item.debugDescription) contains a zero byte and cannot be passed to a command")
    }
    if item.utf8.count > maximumBytes {
      throw CommandError(
        .badItems,
        "the item \(item.prefix(40).debugDescription)… has \(item.utf8.count) bytes; "
          + "at most \(maximumBytes) can be passed to a command")
    }
  }
}
