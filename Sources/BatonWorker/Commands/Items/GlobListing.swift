import BatonModel

/// The regular files that a glob matches. Each file is listed once, as a path relative to the working directory
/// (absolute for an absolute glob). The walk goes folder by folder, and through the names of each folder in the order
/// of their bytes.
///
/// Symbolic links to files count as files. Links to folders are followed only in the part of the pattern before its
/// first wildcard. A folder that vanishes during the walk is skipped; a folder that cannot be read is an error.
struct GlobListing: ItemListing {
  /// A part of one alternative of the pattern. This part has to match a name in the current folder.
  private struct Position: Hashable {
    var alternative: Int
    var part: Int
  }

  private struct Level {
    /// The path of the folder: empty, or with a slash at its end.
    var prefix: String
    var listing: FolderListing
    var index = 0
    var positions: Set<Position>
  }

  private let pattern: GlobPattern
  private let directory: String
  private let host: HostName
  private let pass: ItemPassing
  private let isStopped: @Sendable () -> Bool
  private var levels: [Level] = []

  /// - Parameters:
  ///   - pass: how items are passed to the command. An item that cannot be passed this way is an error now, and not
  ///     only when its batch runs.
  ///   - isStopped: called for each name. A walk that finds nothing may take long, and must end with its launch.
  init(
    pattern: String, directory: String, host: HostName, pass: ItemPassing,
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws {
    self.pattern = try GlobPattern(pattern)
    self.directory = directory
    self.host = host
    self.pass = pass
    self.isStopped = isStopped
    let base = self.pattern.base
    let prefix = (self.pattern.isAbsolute ? "/" : "") + base.map { $0 + "/" }.joined()
    let positions = self.pattern.alternatives.indices.map { Position(alternative: $0, part: base.count) }
    guard try enter(prefix, Set(positions)) else {
      throw CommandError(
        .badItems,
        "the glob '\(pattern)' begins in \(path(prefix)), which is not a folder on \(host): make the folder, or change "
          + "'items'")
    }
  }

  mutating func next() throws -> String? {
    while let level = levels.last {
      if isStopped() { throw CancellationError() }
      guard level.index < level.listing.count else {
        levels.removeLast()
        continue
      }
      levels[levels.count - 1].index += 1
      if let item = try visit(level, level.index) { return item }
    }
    return nil
  }

  /// Returns the item if the name is one. Enters the name if it is a folder that may contain items.
  private mutating func visit(_ level: Level, _ index: Int) throws -> String? {
    let (isMatch, below) = level.listing.withName(index) { match($0, level.positions) }
    if !isMatch && below.isEmpty { return nil }
    switch level.listing.kind(index) {
    case .file where isMatch: return try item(level, index)
    case .folder where !below.isEmpty:
      _ = try enter(level.prefix + name(level, index) + "/", below)
      return nil
    case .file, .folder, .other: return nil
    }
  }

  /// Whether a file with this name matches, and which parts have to match below a folder with this name.
  private func match(_ name: UnsafePointer<CChar>, _ positions: Set<Position>) -> (isMatch: Bool, below: Set<Position>)
  {
    let isHidden = name[0] == 46
    var (isMatch, below) = (false, Set<Position>())
    for position in positions {
      let parts = pattern.alternatives[position.alternative]
      switch parts[position.part] {
      case .anyFolders:
        if !isHidden { below.formUnion([position]) }
        // A `**` at the end of the pattern matches all files below.
        if position.part == parts.count - 1 && !isHidden { isMatch = true }
      case .name(let part):
        guard NameMatch.matches(name, part) else { continue }
        if position.part == parts.count - 1 {
          isMatch = true
        } else {
          below.insert(Position(alternative: position.alternative, part: position.part + 1))
        }
      }
    }
    return (isMatch, below)
  }

  /// Enters a folder. Returns `false` if it does not exist.
  private mutating func enter(_ prefix: String, _ positions: Set<Position>) throws -> Bool {
    guard let listing = try FolderListing(path(prefix), host: host) else { return false }
    levels.append(Level(prefix: prefix, listing: listing, positions: closure(of: positions)))
    return true
  }

  /// Adds the positions after each `**`, which may also stand for no folder at all.
  private func closure(of positions: Set<Position>) -> Set<Position> {
    var closed = positions
    for position in positions {
      let parts = pattern.alternatives[position.alternative]
      var next = position.part
      while next < parts.count - 1, parts[next] == .anyFolders {
        next += 1
        closed.insert(Position(alternative: position.alternative, part: next))
      }
    }
    return closed
  }

  private func path(_ prefix: String) -> String { prefix.hasPrefix("/") ? prefix : directory + "/" + prefix }

  private func item(_ level: Level, _ index: Int) throws -> String {
    let item = level.prefix + (try name(level, index))
    try ItemText.check(item, passedAs: pass)
    return item
  }

  private func name(_ level: Level, _ index: Int) throws -> String {
    if let name = level.listing.withName(index, { String(validatingCString: $0) }) { return name }
    let shown = level.listing.withName(index) { String(cString: $0) }
    throw CommandError(
      .badItems,
      "the file \(path(level.prefix))\(shown) on \(host) has a name that is not UTF-8, so it cannot be an item: "
        + "rename it, or choose a narrower glob")
  }
}
