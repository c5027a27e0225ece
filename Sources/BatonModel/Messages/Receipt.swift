/// The number of commits that one coordinator has made. Every answer that it gave before the receipt is durable in the
/// store.
///
/// The number rises with every commit that changes something. If the store's number for this tenure is lower than the
/// last number that a worker heard, the store went backwards (promise P12). Each coordinator counts for itself, so a
/// worker keeps the last receipt of each tenure.
package struct Receipt: Hashable, Sendable {
  /// The incarnation of the store. The numbers of two incarnations cannot be compared.
  package var store: String
  /// The random name of the coordinator's tenure, which is drawn at each start. The number of commits alone is not
  /// enough: a coordinator that starts on an older copy goes on counting there, and soon has made as many commits as
  /// were lost.
  package var tenure: Int64
  /// The number of commits of this tenure. It begins with the highest number of the tenures before.
  package var sequence: Int64
  /// The coordinator's signature; empty until the receipt is signed. A receipt without a valid signature is ignored.
  package var seal: [UInt8]

  package init(store: String, tenure: Int64, sequence: Int64, seal: [UInt8] = []) {
    self.seal = seal
    self.store = store
    self.tenure = tenure
    self.sequence = sequence
  }

  /// The number of tenures of which a worker keeps the last receipt.
  package static let maximumKept = 8

  /// Keeps `news` among the last receipts of each tenure, at the end. Receipts of another store are dropped: a store
  /// that went backwards has been given another name after they were compared with it.
  package static func keep(_ news: Receipt, among kept: inout [Receipt]) {
    if kept.last?.store != news.store { kept = [] }
    var latest = news
    if let known = kept.firstIndex(where: { $0.tenure == news.tenure }) {
      if kept[known].sequence > news.sequence { latest = kept[known] }
      kept.remove(at: known)
    }
    kept.append(latest)
    kept.removeFirst(max(0, kept.count - maximumKept))
  }
}
