/// A command that the stock worker runs once per batch (Documentation/reference/commands.md).
package struct Work: Hashable, Sendable, Codable {
  /// The argument vector: executed directly, no shell. Each word is a `CommandText`: `${wildcard}` is what the pattern's
  /// `*` matched, and `$${` is `${`.
  package var command: [String]
  /// Working directory; nil means an empty folder made for each launch.
  package var directory: String?
  /// What the batches are made of; nil means one batch, and a command that may keep a cursor of its own.
  package var items: Items?
  /// Items per batch, 1 or more.
  package var batchSize: Int
  package var pass: ItemPassing
  /// Added to a clean environment, never to the worker's own.
  package var environment: [String: String]
  package var onExpiry: ExpiryBehaviour
  /// How long before the deadline of an expiry a command that still runs gets SIGTERM; nil means 5 s, 2 s for a
  /// refresh, and half of the closing window where that is less.
  package var terminateBefore: Duration?
  /// What the reason of a failure has of the command's output; nil, as in what an older version stored, means `.tail`.
  package var failureOutput: FailureOutput?

  package init(
    command: [String], directory: String? = nil, items: Items? = nil, batchSize: Int = 1,
    pass: ItemPassing = .arguments, environment: [String: String] = [:], onExpiry: ExpiryBehaviour = .finishBatch,
    terminateBefore: Duration? = nil, failureOutput: FailureOutput? = nil
  ) {
    self.command = command
    self.directory = directory
    self.items = items
    self.batchSize = batchSize
    self.pass = pass
    self.environment = environment
    self.onExpiry = onExpiry
    self.terminateBefore = terminateBefore
    self.failureOutput = failureOutput
  }
}

/// What the reason of a failure has of the command's output. Reasons are seen in lists, in traces and by the backend that
/// these are sent to; what a command writes may hold secrets.
package enum FailureOutput: String, Sendable, Codable, CaseIterable {
  /// The last lines of it, at most 2 KiB.
  case tail
  /// Nothing: the output is in `baton logs` only.
  case none
}

/// Where the items of a command come from.
package enum Items: Hashable, Sendable, Codable {
  case list([String])
  case range(ClosedRange<Int64>)
  /// One item per line of a file, relative to the working directory.
  case lines(String)
  /// Regular files that match, relative to the working directory; `**` crosses folders.
  case glob(String)

  /// How many items there are, if that is known without looking at a file system; `Int.max` stands for more than fit.
  package var computedCount: Int? {
    switch self {
    case .list(let items): items.count
    case .range(let range): range.saturatedCount
    case .lines, .glob: nil
    }
  }

  /// True if the first launch has to look at its file system and send the items up, to be frozen in the store.
  package var needsExpansion: Bool { computedCount == nil }

  /// The items at `indices`, for a source that is computed; empty for one that needs expansion.
  package func computed(_ indices: Range<Int>) -> [String] {
    switch self {
    case .list(let items): Array(items[indices])
    case .range(let range): indices.map { String(range.lowerBound + Int64($0)) }
    case .lines, .glob: []
    }
  }
}

extension ClosedRange<Int64> {
  /// A range of all 64-bit numbers has one more than fits 64 bits.
  fileprivate var saturatedCount: Int {
    let (distance, isTooLong) = upperBound.subtractingReportingOverflow(lowerBound)
    return isTooLong || distance == .max ? .max : Int(distance) + 1
  }
}

/// How a batch's items reach the command.
package enum ItemPassing: String, Sendable, Codable, CaseIterable {
  case arguments
  /// One item per line.
  case stdin
  /// One item per line of the file named by `BATON_ITEMS_FILE`, which is also the last argument.
  case file
}

/// What happens to a running command when its launch expires.
package enum ExpiryBehaviour: String, Sendable, Codable, CaseIterable {
  /// The running batch may finish and is committed; SIGTERM comes shortly before the deadline.
  case finishBatch
  /// SIGTERM at once.
  case terminate
}
