/// A command that the stock worker runs once for each batch (Documentation/reference/commands.md).
package struct Work: Hashable, Sendable, Codable {
  /// The program and its arguments, which are executed directly, without a shell. Each element is parsed as a
  /// `CommandText`: `${wildcard}` stands for the part of the identifier that the pattern's `*` matches, and `$${` for
  /// `${`.
  package var command: [String]
  /// The working directory, an absolute path; `nil` means an empty folder that is made for each launch.
  package var directory: String?
  /// What the batches are made of. `nil` means a command in one piece: it runs once, and may keep a cursor of its own.
  package var items: Items?
  /// How many items a batch has, 1 or more.
  package var batchSize: Int
  package var pass: ItemPassing
  /// The variables that are added to a clean environment. Of the worker's own environment the command gets only `PATH`,
  /// `HOME` and the locale.
  package var environment: [String: String]
  /// The secrets that the command gets, by name. A name has the form of the name of an environment variable. `nil`,
  /// which an older version stored too, means no secrets.
  package var secrets: [String: Secret]?
  package var onExpiry: ExpiryBehaviour
  /// How long before the deadline of an expiry a command that still runs gets SIGTERM. `nil` means 5 s, or 2 s for a
  /// `refresh`, but at most half of the closing window (`Definition.terminationMargin`).
  package var terminateBefore: Duration?
  /// How much of the command's output is part of the reason of a failure. `nil`, which an older version stored, means
  /// `.tail`.
  package var failureOutput: FailureOutput?
  /// The least sandbox that the command runs in; `nil` means what the host's owner requires.
  package var sandbox: SandboxLevel?
  /// The user of the host as which the command runs; `nil` means the worker's user.
  package var user: String?

  package init(
    command: [String], directory: String? = nil, items: Items? = nil, batchSize: Int = 1,
    pass: ItemPassing = .arguments, environment: [String: String] = [:], secrets: [String: Secret]? = nil,
    onExpiry: ExpiryBehaviour = .finishBatch, terminateBefore: Duration? = nil, failureOutput: FailureOutput? = nil,
    sandbox: SandboxLevel? = nil, user: String? = nil
  ) {
    self.command = command
    self.directory = directory
    self.items = items
    self.batchSize = batchSize
    self.pass = pass
    self.environment = environment
    self.secrets = secrets
    self.onExpiry = onExpiry
    self.terminateBefore = terminateBefore
    self.failureOutput = failureOutput
    self.sandbox = sandbox
    self.user = user
  }
}

extension Definition {
  /// Whether a request that has committed `batches` has a next batch that can be skipped. A command without items that
  /// has kept no cursor has no batches: it would only run again. Of a handler it cannot be told, so it has one.
  package func hasBatchToSkip(after batches: Int) -> Bool {
    guard let work else { return true }
    return work.items != nil || batches > 0
  }
}

/// How much of a command's output is part of the reason of a failure. Reasons are shown in lists and in traces, and are
/// sent to the tracing backend; the output of a command may contain secrets.
package enum FailureOutput: String, Sendable, Codable, CaseIterable {
  /// The last lines of the output, at most 2 KiB.
  case tail
  /// Nothing. The output can be read with `baton logs` only.
  case none
}

/// Where the items of a command come from.
package enum Items: Hashable, Sendable, Codable {
  case list([String])
  case range(ClosedRange<Int64>)
  /// The lines of a file, one item per line that is not empty. The path is relative to the working directory.
  case lines(String)
  /// The regular files, and links to regular files, that match a glob relative to the working directory; `**` matches
  /// folders of any depth.
  case glob(String)

  /// The number of items, if it is known without a look at a file system; otherwise `nil`. It is `Int.max` if the
  /// number does not fit in 64 bits.
  package var computedCount: Int? {
    switch self {
    case .list(let items): items.count
    case .range(let range): range.saturatedCount
    case .lines, .glob: nil
    }
  }

  /// True if the first launch has to read its file system and send the items to the coordinator, where they are frozen
  /// in the store.
  package var needsExpansion: Bool { computedCount == nil }

  /// The items at `indices`. Empty for a source that needs expansion.
  package func computed(_ indices: Range<Int>) -> [String] {
    switch self {
    case .list(let items): Array(items[indices])
    case .range(let range): indices.map { String(range.lowerBound + Int64($0)) }
    case .lines, .glob: []
    }
  }
}

extension ClosedRange<Int64> {
  /// The number of elements, or `Int.max` if it does not fit: the range of all 64-bit numbers has one element too many.
  fileprivate var saturatedCount: Int {
    let (distance, isTooLong) = upperBound.subtractingReportingOverflow(lowerBound)
    return isTooLong || distance == .max ? .max : Int(distance) + 1
  }
}

/// How the items of a batch reach the command.
package enum ItemPassing: String, Sendable, Codable, CaseIterable {
  /// As arguments, after those of `command`.
  case arguments
  /// On standard input, one item per line.
  case stdin
  /// In the file that `BATON_ITEMS_FILE` names, one item per line. The path of the file is also the last argument.
  case file
}

/// What happens to a running command when its launch expires.
package enum ExpiryBehaviour: String, Sendable, Codable, CaseIterable {
  /// The running batch may finish, and is then committed. If it has not finished shortly before the deadline, the
  /// command gets SIGTERM.
  case finishBatch
  /// The command gets SIGTERM at once.
  case terminate
}
