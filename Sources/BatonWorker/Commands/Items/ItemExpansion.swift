import BatonModel
import Synchronization

/// Lists the items of a request on the first launch's file system and freezes them in the store, page by page: a
/// million items are never in memory at once.
final class ItemExpansion: Sendable {
  /// The items that follow, and the one after the last page, which says whether that was the last.
  private let state: Mutex<State>

  private struct State {
    var listing: any ItemListing
    var next: String?
    var hasBegun = false
  }

  struct Page: Sendable {
    var items: [String] = []
    var isLast = false
  }

  /// Returns when the file or folder is open, or as soon as the task is cancelled: a file system that is away may let
  /// nobody go.
  /// - Throws: `CommandError` with code `.badItems` if there is no such file or folder.
  static func open(_ items: Items, launch: CommandLaunch) async throws -> ItemExpansion {
    try await onOwnThreadUntilCancelled { try ItemExpansion(items, launch: launch) }
  }

  private convenience init(_ items: Items, launch: CommandLaunch) throws {
    let (directory, host, stop) = (launch.directory, launch.runner.host, launch.stop)
    switch items {
    case .lines(let file): self.init(try LineListing(file: file, directory: directory, host: host))
    case .glob(let pattern):
      self.init(
        try GlobListing(pattern: pattern, directory: directory, host: host, pass: launch.work.pass) { stop.isStopped })
    case .list, .range: preconditionFailure("\(items) is computed, not expanded")
    }
  }

  init(_ listing: some ItemListing) { state = Mutex(State(listing: listing)) }

  /// Returns how many items there are; they are all durable then.
  func freeze(_ runtime: any CommandRuntime) async throws -> Int {
    var count = 0
    while true {
      try Task.checkCancellation()
      let page = try await onOwnThreadUntilCancelled { [self] in try nextPage() }
      try await runtime.freeze(page.items, start: count, isLast: page.isLast)
      count += page.items.count
      if page.isLast { return count }
    }
  }

  /// At most `ItemPage.maximumItems`, and about `ItemPage.targetBytes`.
  func nextPage() throws -> Page {
    try state.withLock { state in
      if !state.hasBegun { state.next = try state.listing.next() }
      state.hasBegun = true
      var page = Page()
      var bytes = 0
      while let item = state.next, page.items.count < ItemPage.maximumItems, bytes < ItemPage.targetBytes {
        page.items.append(item)
        bytes += item.utf8.count
        state.next = try state.listing.next()
      }
      page.isLast = state.next == nil
      return page
    }
  }
}

/// Items in a fixed order, one at a time.
protocol ItemListing: Sendable {
  /// Nil after the last one.
  mutating func next() throws -> String?
}
