import BatonModel
import Testing

@testable import BatonHandler

@Suite struct AddedTransfersTests {
  /// Another task may add transfers while a checkpoint with others is under way, which may not be stored.
  @Test func `no more than a thousand are added, also while some are on their way`() throws {
    let added = AddedTransfers()
    let transfer = Transfer(url: "https://example.com/a", to: "a")
    for _ in 0..<600 { try added.add(transfer) }
    let taken = added.take()
    #expect(taken.count == 600 && added.all.isEmpty && added.take().isEmpty)
    for _ in 0..<400 { try added.add(transfer) }
    #expect(throws: HandlerError.self) { try added.add(transfer) }
    added.settle(taken, areStored: false)
    #expect(added.all.count == 1_000)
    added.settle(added.take(), areStored: true)
    #expect(added.all.isEmpty)
    try added.add(transfer)
  }
}
