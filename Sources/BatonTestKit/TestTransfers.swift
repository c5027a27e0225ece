import BatonHandler
import BatonModel
import Synchronization

/// The transfers of a request under test, in place of the rows of a store.
struct TestTransfers: Sendable {
  private(set) var all: [Transfer] = []
  private var ends: [Int: TransferEnd] = [:]
  private var told: [Int: Int] = [:]
  private var acknowledged: Set<Int> = []

  private var book: TransferBook {
    TransferBook(
      all.enumerated().map { index, transfer in
        TransferBook.Entry(
          index, group: transfer.group, hasEnded: ends[index] != nil, told: told[index],
          isAcknowledged: acknowledged.contains(index))
      })
  }

  /// Whether the request goes on after a launch that has finished.
  var goesOn: Bool { book.turn != .none }

  /// The transfers that have to end before the next launch: those of one group, if no launch is due.
  var next: [Int: Transfer] {
    guard book.turn == .wait, let first = all.indices.first(where: { ends[$0] == nil }) else { return [:] }
    let group = all[first].group
    return Dictionary(
      uniqueKeysWithValues: all.enumerated().filter { ends[$0.offset] == nil && $0.element.group == group }
        .map { ($0.offset, $0.element) })
  }

  mutating func add(_ transfers: [Transfer]) { all += transfers }

  mutating func end(_ ends: [Int: TransferEnd]) { self.ends.merge(ends) { $1 } }

  /// The ends that a launch which starts now is told of.
  mutating func tell(_ launch: Int) -> [TransferEvent] {
    for entry in book.news { told[entry.index] = launch }
    return book.events.compactMap { entry in
      ends[entry.index].map {
        TransferEvent(index: entry.index, all[entry.index], $0, isNew: !entry.isAcknowledged)
      }
    }
  }

  /// A launch has saved a checkpoint, or has finished.
  mutating func acknowledge(by launch: Int) {
    acknowledged.formUnion(book.acknowledged(by: launch).map(\.index))
  }
}

extension TestRequest {
  /// Lets the transfers of the next group end, if the next launch is for their events.
  func endTransfers() async throws {
    let (next, count) = state.withLock { state in
      // A launch that failed or was lost is repeated at once, also while transfers go on.
      let waits = state.completion == nil && (state.launches.last.map { $0.outcome == .finished } ?? true)
      return (waits ? state.transfers.next : [:], state.launches.count)
    }
    if next.isEmpty { return }
    let checked = try settings.checked()
    guard let server = settings.server else {
      throw TestKitError(
        .noServer,
        "launch \(count) of \(settings.identifier) has added transfers, and nothing delivers their files: give the "
          + "request a TestServer")
    }
    let run = TransferRun(checked.identifier, checked.definition.pattern, server, at: clock.elapsed)
    let (ends, time) = try await run.ends(of: next)
    clock.move(to: max(time, clock.elapsed))
    state.withLock { $0.transfers.end(ends) }
  }
}
