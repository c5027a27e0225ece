import BatonModel
import BatonProcess
import Synchronization

/// Lists the items of a request on the file system of the host with its first launch, and freezes them in the store,
/// page by page. A million items are never in memory at once.
final class ItemExpansion: Sendable {
  /// The rest of the listing, and the first item after the last page. This item tells whether that page was the last.
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

  /// Opens the file or folder of the items. Returns when it is open. If the task is cancelled before, it throws at
  /// once, because a file system that does not answer may never let the open return.
  /// - Throws: `CommandError` with the code `.badItems` if the file or folder does not exist; `CancellationError`.
  static func open(_ items: Items, launch: CommandLaunch) async throws -> ItemExpansion {
    try await onOwnThreadUntilCancelled { try ItemExpansion(items, launch: launch) }
  }

  private convenience init(_ items: Items, launch: CommandLaunch) throws {
    let (directory, host, stop) = (launch.directory, launch.runner.host, launch.stop)
    switch items {
    case .lines(let file): self.init(try LineListing(file: file, directory: directory, host: host, fence: launch.fence))
    case .glob(let pattern):
      self.init(
        try GlobListing(pattern: pattern, directory: directory, host: host, pass: launch.work.pass) { stop.isStopped })
    case .list, .range: preconditionFailure("\(items) is computed, not expanded")
    }
  }

  init(_ listing: some ItemListing) { state = Mutex(State(listing: listing)) }

  /// Sends all items to the store. Returns the number of items when all of them are durable.
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

  /// The next page: at most `ItemPage.maximumItems` items, and about `ItemPage.targetBytes` bytes.
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

/// A sequence of items in a fixed order.
protocol ItemListing: Sendable {
  /// The next item; `nil` after the last one.
  mutating func next() throws -> String?
}
