import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging
import Synchronization

/// The receipts that workers get and bring back: the seal on them, and what the log says. `CoordinatorCore+Hello`
/// decides what follows from a receipt that the store does not reach (promise P12).
extension Coordinator {
  /// The store's current receipt, sealed for workers.
  var receipt: Receipt { seal.sealed(store.receipt) }

  /// Warns if the receipt key was missing although the store has workers: the receipts of these workers prove nothing
  /// now.
  func noteReceiptKey(hosts: Int) {
    guard settings.isReceiptKeyNew, hosts > 0 else { return }
    logger.warning(
      """
      the key that signs workers' receipts was not in the data folder, and a new one was made: until each worker has heard \
      of it, a store that went backwards is not noticed. A backup of the data folder has to have the file receipt.key; \
      after an upgrade from a version without it there is nothing to do.
      """)
  }

  /// What a hello proves.
  func proof(of hello: Hello) -> Proof {
    Proof(
      secret: Self.digest(hello.secret), signedReceipts: Set(hello.receipts.filter(seal.isGenuine)),
      nextStore: RandomNumbers.name())
  }

  func warn(ofUnproven receipt: Receipt, from host: HostName) {
    logger.warning(
      "a receipt that this store's key did not sign does not count",
      metadata: [Names.LogKey.host: "\(host)", "sequence": "\(receipt.sequence)"])
  }

  func logHistory(_ why: String) {
    logger.error(
      """
      the store went backwards: \(why). Was an older backup put in its place? The fleet is paused, because work that is \
      missing in the store would run again: put the right database back, or let it go on with 'baton resume'.
      """)
  }
}
